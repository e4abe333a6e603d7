// The two panes of the inspector: events on the left, aspects on the right, both as numbered lines.

import { kindName } from "../components.js";
import { h, put } from "../dom.js";

const DEEPEST = 8;

/**
 * @typedef {{depth: number, key: string|null, text: string, is_value: boolean}} Line
 */

/**
 * Return the pane of the events.
 * @param {any[]} events
 * @param {string[][]} outcomes name, mark, text and meaning of each
 */
export function eventPane(events, outcomes) {
  const body = h("div.pane-body", { role: "list", "aria-label": "Fields of the event" });
  const show = (/** @type {number} */ index) => {
    const event = events[index];
    const fields = new Map(event.fields.map((/** @type {any} */ field) => [field.line, field]));
    put(body, event.lines.map((/** @type {Line} */ line, /** @type {number} */ offset) => eventLine(line, event.first_line + offset, fields, outcomes)));
    body.querySelector(".line[tabindex]")?.setAttribute("tabindex", "0");
  };
  show(0);
  const select = events.length > 1 && h("label", { for: "which" }, "Event", h("select", { id: "which", onchange: (/** @type {any} */ event) => { show(Number(event.target.value)); } },
    events.map((event, index) => h("option", { value: index }, `${event.type ?? "event"} ${event.job} (${event.location})`))));
  return { body, pane: h("section.pane", { "aria-label": "Event" }, h("div.pane-head", {}, h("h2", {}, "Event"), select || h("span.soft.name", {}, `${events[0].type ?? ""} ${events[0].job}`)), body) };
}

/** @param {Line} line @param {number} number @param {Map<number, any>} fields @param {string[][]} outcomes */
function eventLine(line, number, fields, outcomes) {
  const field = fields.get(number);
  if (!field) return h(`div.line`, { role: "presentation" }, h("span.mark"), lineText(line));
  const outcome = field.outcome === "dropped" && field.is_loss ? "lost" : field.outcome;
  const [, mark, text] = outcomes.find(([name]) => name === outcome) ?? ["", "", ""];
  return h(`div.line.${outcome}`, { role: "listitem", tabindex: -1, "data-line": number },
    h("span.mark", { "aria-hidden": "true" }, mark), lineText(line), h("span.visually-hidden", {}, `, ${text}`));
}

/**
 * Return the pane of the aspects.
 * @param {any[]} entities
 */
export function aspectPane(entities) {
  const body = h("div.pane-body", { role: "list", "aria-label": "Values of the aspects" },
    entities.map((item) => [
      h("div.entity-title", { role: "listitem", tabindex: -1, "data-line": item.title_line, title: item.entity.urn },
        h("strong.name", {}, item.entity.name), h("span.tag", {}, [kindName(item.entity.type), item.entity.platform].filter(Boolean).join(" · "))),
      item.aspects.map((/** @type {any} */ aspect) => [
        h("div.aspect-title", { role: "presentation" }, aspect.name),
        aspect.lines.map((/** @type {Line} */ line, /** @type {number} */ offset) => line.is_value
          ? h("div.line", { role: "listitem", tabindex: -1, "data-line": aspect.first_line + offset }, h("span.mark"), lineText(line))
          : h("div.line", { role: "presentation" }, h("span.mark"), lineText(line))),
      ]),
    ]));
  body.querySelector("[tabindex]")?.setAttribute("tabindex", "0");
  const number = entities.reduce((sum, item) => sum + item.aspects.length, 0);
  return { body, pane: h("section.pane", { "aria-label": "Aspects" }, h("div.pane-head", {}, h("h2", {}, "What DataHub gets"), h("span.soft", {}, `${number} aspects of ${entities.length} entities`)), body) };
}

/** @param {Line} line */
function lineText(line) {
  return h(`span.text.depth-${Math.min(line.depth, DEEPEST)}`, {},
    line.key !== null && h("span.key", {}, `${line.key}: `),
    h(line.is_value ? "span.value" : "span", {}, line.text));
}

