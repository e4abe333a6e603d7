// Elements from data. All text becomes text nodes, never markup; characters that nobody sees are shown as escapes.

const SVG = "http://www.w3.org/2000/svg";
/** Control characters except tab and line feed, line separators, and those that change the direction of text. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** @typedef {Node|string|number|null|undefined|false|Child[]} Child */

/**
 * Return a text with unseen characters as escapes, such as \u202e.
 * @param {unknown} text
 * @returns {string}
 */
export function visible(text) {
  return String(text).replace(UNSEEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Return an HTML element.
 * @param {string} tag name and classes, such as "p.note"
 * @param {Record<string, unknown>} [attributes] on* are listeners; false, null and undefined are left out
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return /** @type {HTMLElement} */ (fill(document.createElement(name), classes, attributes, children));
}

/**
 * Return an SVG element, as h() does.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return /** @type {SVGElement} */ (fill(document.createElementNS(SVG, name), classes, attributes, children));
}

/**
 * Replace the content of an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Say something to screen readers. @param {string} text */
export function announce(text) {
  const region = document.getElementById("announce");
  if (region) region.textContent = visible(text);
}

/** @param {Element} element @param {string[]} classes @param {Record<string, unknown>} attributes @param {Child[]} children */
function fill(element, classes, attributes, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? "" : name === "href" ? String(value) : visible(value));
  }
  append(element, children);
  return element;
}

/** @param {Element} element @param {Child[]} children */
function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(visible(child));
  }
}
