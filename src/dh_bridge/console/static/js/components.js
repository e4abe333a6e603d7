// Parts that several views share.

import { h, put, s } from "./dom.js";
import { count, duration } from "./format.js";

const KINDS = { dataset: "dataset", dataJob: "job", dataFlow: "flow", dataProcessInstance: "run", assertion: "check", schemaField: "column", tag: "tag" };
const TONES = {
  SUCCESS: "good", COMPLETE: "good", FAILURE: "bad", ERROR: "bad", FAIL: "bad", STARTED: "busy", RUNNING: "busy", UP_FOR_RETRY: "warn", SKIPPED: "",
};

/** @param {string} type @returns {string} */
export const kindName = (type) => KINDS[/** @type {keyof KINDS} */ (type)] ?? type;

/**
 * Return the address of a view.
 * @param {string} view
 * @param {Record<string, string|number|null|undefined>} [parameters]
 */
export function address(view, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  const text = query.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

/** @param {{urn: string, type: string}} entity */
export function entityAddress(entity) {
  if (entity.type === "dataProcessInstance") return address("run", { urn: entity.urn });
  if (entity.type === "assertion") return address("check", { urn: entity.urn });
  if (entity.type === "dataset" || entity.type === "dataJob") return address("lineage", { urn: entity.urn });
  return address("entity", { urn: entity.urn });
}

/** @param {{urn: string, type: string, name: string, platform?: string}} entity */
export function entityLink(entity) {
  return h("a.name", { href: entityAddress(entity), title: entity.urn }, breakable(entity.name));
}

/** Return a long name with places where a line may end. @param {string} name @returns {import("./dom.js").Child[]} */
export const breakable = (name) => name.split(/(?<=[./_-])/).flatMap((part) => [part, h("wbr")]);

/** Return a sentence whose parts in backticks are code. @param {string} text @returns {import("./dom.js").Child[]} */
export const prose = (text) => text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));

/** @param {string|null} status */
export function statusBadge(status) {
  const text = status ?? "no result";
  return h(`span.badge${toneOf(text) ? `.${toneOf(text)}` : ""}`, {}, text.toLowerCase().replaceAll("_", " "));
}

/** @param {string} status @returns {string} */
export const toneOf = (status) => TONES[/** @type {keyof TONES} */ (status)] ?? "";

/** @param {string} title @param {...import("./dom.js").Child} hints */
export function empty(title, ...hints) {
  return h("div.empty", {}, h("strong", {}, title), h("p", {}, ...hints));
}

/**
 * Return a table in a box that scrolls sideways.
 * @param {string} caption read to people who cannot see it
 * @param {(string|{text: string, number: boolean})[]} columns
 * @param {import("./dom.js").Child[][]} rows
 */
export function table(caption, columns, rows) {
  const heads = columns.map((column) => (typeof column === "string" ? { text: column, number: false } : column));
  return h(
    "div.table-box",
    { tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption.visually-hidden", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h(head.number ? "th.number" : "th", { scope: "col" }, head.text)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, index) => h(heads[index].number ? "td.number" : "td", {}, cell))))),
    ),
  );
}

/** Return a duration with a bar beside it. @param {number|null} millis @param {number} longest @param {string} status */
export function durationBar(millis, longest, status) {
  if (millis === null) return h("span.soft", {}, "–");
  const width = longest ? Math.max(1.5, (100 * millis) / longest) : 0;
  return h(
    "span.duration",
    {},
    s("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect.track", { width: 100, height: 8, rx: 2 }),
      s(toneOf(status) === "bad" ? "rect.value.bad" : "rect.value", { width, height: 8, rx: 2 })),
    h("span", {}, duration(millis)),
  );
}

/**
 * Show a list in pages: a table, and a button for the next page.
 * @param {any} first the first answer, with `remaining`, `is_exact` and `next_page`
 * @param {(answer: any) => any[]} items @param {(page: string) => Promise<any>} load @param {(items: any[]) => import("./dom.js").Child} draw
 * @returns {{list: HTMLElement, number: HTMLElement}} `number` says how many there are
 */
export function pagedList(first, items, load, draw) {
  const list = h("div");
  const number = h("span.soft.small", { role: "status" });
  /** @type {any[]} */
  let all = [];
  /** @param {any} answer */
  const add = (answer) => {
    all = [...all, ...items(answer)];
    const total = `${count(all.length + answer.remaining)}${answer.is_exact ? "" : " or more"}`;
    put(number, answer.next_page ? `${count(all.length)} of ${total}` : count(all.length));
    put(list, draw(all), answer.next_page && h("p.card-foot", {}, h("button", { type: "button", onclick: async () => add(await load(answer.next_page)) }, "Show more")));
  };
  add(first);
  return { list, number };
}

/** @param {Error} error */
export function problem(error) {
  return h("div.note.bad", { role: "alert" }, error.message);
}
