// The events of the log, newest first: all, or those that contain a text. Each leads to the inspector.

import { get } from "../api.js";
import { address, breakable, empty, table } from "../components.js";
import { h, put } from "../dom.js";
import { count, plural, time } from "../format.js";

const PAGE = 100;

/** @param {import("../main.js").ViewContext} context */
export async function showEvents({ main, query, isCurrent, set }) {
  const text = query.get("q") ?? "";
  const first = await get("logged-events", { q: text, limit: PAGE });
  if (!isCurrent()) return;
  main.className = "";
  const list = h("div");
  const number = h("span.soft.small", { role: "status" });
  /** @type {any[]} */
  let events = [];
  /** @param {any} answer */
  const add = (answer) => {
    events = [...events, ...answer.events];
    const searched = answer.before !== null && answer.searched_since !== null ? `, searched back to ${time(answer.searched_since)} UTC` : "";
    put(number, `${plural(events.length, "event")}${answer.before === null ? "" : " or more"}${searched}`);
    put(list, events.length ? eventTable(events) : none(answer, text),
      answer.before !== null && h("p.card-foot", {}, h("button", { type: "button", onclick: async () => add(await get("logged-events", { q: text, limit: PAGE, before: answer.before })) }, text ? "Search older events" : "Show more")));
  };
  add(first);
  const input = h("input", { id: "text", type: "search", value: text, placeholder: "a name, a facet, a run id …", onchange: (/** @type {any} */ event) => set({ q: event.target.value }) });
  put(main, h("div.head", {}, h("h1", {}, "Events"), number),
    first.has_log && h("form.filters", { onsubmit: (/** @type {Event} */ event) => event.preventDefault() }, h("label", { for: "text" }, "Contains the text", input)),
    h("section.card.flush", {}, list));
}

/** @param {any} answer @param {string} text */
function none(answer, text) {
  if (!answer.has_log) return empty("This file has no event log", "Events that emit, serve or the transport accept are stored in the event log of the ledger.");
  if (answer.before !== null) return empty("No match yet", "Older events are not searched yet.");
  return text ? empty("No event contains the text", "Events are deleted after log.retention_days.") : empty("No events yet", "The log has no event.");
}

/** @param {any[]} events */
function eventTable(events) {
  return table("Events", ["Received (UTC)", "Type", "Job", { text: "Position", number: true }], events.map((event) => [
    h("span.nowrap", {}, time(event.received)), event.type ?? "event",
    h("a.name", { href: address("inspector", { example: `log:${event.position}` }) }, breakable(event.job || "–")), count(event.position),
  ]));
}
