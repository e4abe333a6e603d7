// Connects the panes of the inspector: a field lights what it became, a value of an aspect lights the fields that it comes from.

import { h, put } from "../dom.js";

/**
 * @param {any} inspection
 * @param {HTMLElement} left @param {HTMLElement} right @param {HTMLElement} detail
 */
export function connect(inspection, left, right, detail) {
  /** @type {Map<number, any>} */
  const fields = new Map();
  /** @type {Map<number, number[]>} */
  const sources = new Map();
  for (const event of inspection.events) {
    for (const field of event.fields) {
      fields.set(field.line, field);
      for (const link of field.links) sources.set(link, [...(sources.get(link) ?? []), field.line]);
    }
  }
  /** @type {Element[]} */
  let lit = [];
  /** @param {HTMLElement} pane @param {number} number */
  const lineOf = (pane, number) => pane.querySelector(`[data-line="${number}"]`);
  /** @param {HTMLElement} pane @param {Element} line @param {boolean} isFocused */
  const light = (pane, line, isFocused) => {
    for (const element of lit) element.classList.remove("lit");
    const number = Number(line.getAttribute("data-line"));
    const other = pane === left ? right : left;
    const targets = (pane === left ? fields.get(number)?.links ?? [] : sources.get(number) ?? []).map((/** @type {number} */ target) => lineOf(other, target)).filter(Boolean);
    lit = [line, ...targets];
    for (const element of lit) element.classList.add("lit");
    if (targets.length && (isFocused || !isInView(other, targets[0]))) scrollInto(other, targets[0]);
    if (pane === left) put(detail, describe(fields.get(number)));
    else put(detail, h("dt", {}, "Comes from"), h("dd", {}, targets.length ? (sources.get(number) ?? []).map((source) => h("div.mono", {}, fields.get(source).path)) : h("span.soft", {}, "No single field: it follows from several parts of the event, or from the settings.")));
  };
  for (const pane of [left, right]) {
    pane.addEventListener("mouseover", (event) => {
      const line = /** @type {Element} */ (event.target).closest("[data-line]");
      if (line) light(pane, line, false);
    });
    pane.addEventListener("focusin", (event) => {
      const line = /** @type {Element} */ (event.target).closest("[data-line]");
      if (line) light(pane, line, true);
    });
    pane.addEventListener("click", (event) => {
      const line = /** @type {HTMLElement|null} */ (/** @type {Element} */ (event.target).closest("[data-line]"));
      if (line) moveTo(pane, line);
    });
    pane.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 }[event.key];
      if (!step) return;
      event.preventDefault();
      const lines = /** @type {HTMLElement[]} */ ([...pane.querySelectorAll("[data-line]")]);
      const index = lines.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step;
      moveTo(pane, lines[Math.min(lines.length - 1, Math.max(0, index))]);
    });
  }
}

/** @param {HTMLElement} pane @param {HTMLElement} line */
function moveTo(pane, line) {
  for (const other of pane.querySelectorAll('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
  line.setAttribute("tabindex", "0");
  line.focus();
}

/** @param {any} field */
function describe(field) {
  const words = { mapped: "mapped: a field of DataHub holds the value", property: "property: a custom property holds the value", dropped: field.is_loss ? "dropped: the value is not stored" : "dropped without a loss" };
  return [
    h("dt", {}, "Field"), h("dd.mono", {}, field.path),
    h("dt", {}, "Outcome"), h("dd", {}, words[/** @type {keyof words} */ (field.outcome)]),
    field.target && [h("dt", {}, "Becomes"), h("dd.mono", {}, field.target)],
    field.reason && [h("dt", {}, "Reason"), h("dd", {}, h("span.mono", {}, field.reason), field.meaning ? ` ${field.meaning}` : "")],
  ];
}

/** @param {HTMLElement} pane @param {Element} element */
function isInView(pane, element) {
  const [box, view] = [element.getBoundingClientRect(), pane.getBoundingClientRect()];
  return box.top >= view.top && box.bottom <= view.bottom;
}

/** Scroll a pane alone, not the page. @param {HTMLElement} pane @param {Element} element */
function scrollInto(pane, element) {
  const box = element.getBoundingClientRect();
  pane.scrollTop += box.top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
}
