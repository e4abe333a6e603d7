// Buttons that save the graph as a file.

import { h } from "../dom.js";
import { download, toMermaid, toPng, toSvg } from "./export.js";

/**
 * @param {() => {content: () => SVGElement, size: () => {width: number, height: number}}} board
 * @param {any} view @param {string} name
 */
export function exportButtons(board, view, name) {
  const file = name.replace(/[^\w.-]+/g, "_").slice(-80) || "lineage";
  const svg = () => toSvg(board().content(), board().size());
  const button = (/** @type {string} */ text, /** @type {() => void} */ onClick) => h("button", { type: "button", onclick: onClick }, text);
  return [
    button("SVG", () => download(`${file}.svg`, new Blob([svg()], { type: "image/svg+xml" }))),
    button("PNG", async () => download(`${file}.png`, await toPng(svg(), board().size()))),
    button("Mermaid", () => download(`${file}.mmd`, new Blob([toMermaid(view)], { type: "text/plain" }))),
  ];
}
