// The graph as a file: SVG and PNG with the colours that are shown, and Mermaid.

import { color } from "../theme.js";

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "opacity"];
const PNG_SCALE = 2;
const MAX_PNG_PIXELS = 8192;

/**
 * Return the graph as an SVG document that needs no style sheet.
 * @param {SVGElement} content
 * @param {{width: number, height: number}} size
 */
export function toSvg(content, size) {
  const copy = /** @type {SVGElement} */ (content.cloneNode(true));
  const originals = [content, ...content.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
    const style = getComputedStyle(originals[index]);
    if (element.localName !== "g" && element.localName !== "title") for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role", "aria-pressed", "aria-hidden"]) element.removeAttribute(name);
  });
  copy.removeAttribute("transform");
  const background = color("--surface");
  const body = new XMLSerializer().serializeToString(copy);
  const [width, height] = [Math.ceil(size.width), Math.ceil(size.height)];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="100%" height="100%" fill="${background}"/>${body}</svg>\n`;
}

/**
 * Return the graph as a picture.
 * @param {string} svg
 * @param {{width: number, height: number}} size
 * @returns {Promise<Blob>}
 */
export async function toPng(svg, size) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const scale = Math.min(PNG_SCALE, MAX_PNG_PIXELS / Math.max(size.width, size.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(size.width * scale);
    canvas.height = Math.ceil(size.height * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large (export SVG instead)"))), "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/**
 * Return the graph as a Mermaid flowchart.
 * @param {{nodes: {type: string, name: string}[], edges: [number, number][]}} view
 */
export function toMermaid(view) {
  /** @param {string} text */
  const escape = (text) => text.replace(/[#"<>&`]/g, (sign) => `#${sign.charCodeAt(0)};`).replaceAll("\n", " ");
  const lines = view.nodes.map((node, index) => `  n${index}${node.type === "dataJob" ? `["${escape(node.name)}"]` : `[("${escape(node.name)}")]`}`);
  return ["flowchart LR", ...lines, ...view.edges.map(([upstream, downstream]) => `  n${upstream} --> n${downstream}`), ""].join("\n");
}

/** @param {string} name @param {Blob} blob */
export function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
