// What `dh-bridge check` finds in events: those of the log, or pasted ones. Each finding leads to its events.

import { get, post } from "../api.js";
import { address, empty, problem, prose, table } from "../components.js";
import { h, put } from "../dom.js";
import { count, cut, plural, time } from "../format.js";

const POLL_MILLIS = 400;
const AMOUNTS = [["10000", "the latest 10,000 events"], ["100000", "the latest 100,000 events"], ["", "all events"]];

/** Return the card that checks the event log. @param {any} state @param {() => boolean} isCurrent */
export function logCheckCard(state, isCurrent) {
  const head = [h("h2", {}, "Check the event log"), h("p.soft", {}, "Find names that change with every run, facets and platforms that no mapping knows, one table under several names, and invalid events.")];
  if (!state.has_log) {
    return h("section.card", {}, head, h("p.note", {}, "This file has no event log. ", "The next event that the ledger accepts begins one. Without a log, paste events below."));
  }
  const result = h("div", { "aria-live": "polite" });
  const select = /** @type {HTMLSelectElement} */ (h("select", { id: "log-amount" }, AMOUNTS.map(([value, text]) => h("option", { value }, text))));
  const start = /** @type {HTMLButtonElement} */ (h("button.main", { type: "submit" }, "Check"));
  /** @param {any} next */
  const follow = async (next) => {
    while (next.state === "running" && isCurrent()) {
      start.disabled = true;
      put(result, progress(next, async () => follow(await post("stop-log-check", ""))));
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS));
      if (isCurrent()) next = await get("log-check");
    }
    if (!isCurrent()) return;
    start.disabled = false;
    put(result, outcome(next));
  };
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await follow(await post("start-log-check", JSON.stringify({ events: select.value ? Number(select.value) : null })));
    } catch (error) {
      start.disabled = false;
      put(result, h("div.card-foot", {}, problem(/** @type {Error} */ (error))));
    }
  };
  follow(state);
  return h("section.card.flush", {}, h("div.card-head", {}, head,
    h("form.filters", { onsubmit: submit }, h("label", { for: "log-amount" }, "Check", select), start, h("a", { href: address("events") }, "Show the events"))), result);
}

/** @param {any} state @param {() => void} onStop */
function progress(state, onStop) {
  return h("div.card-foot.progress", {}, h("progress", { max: Math.max(1, state.total), value: state.checked, "aria-label": "Events checked" }),
    h("span.soft.small", {}, `${count(state.checked)} of ${plural(state.total, "event")}`), h("button", { type: "button", onclick: onStop }, "Stop"));
}

/** @param {any} state @returns {import("../dom.js").Child} */
function outcome(state) {
  if (state.state === "failed") return h("div.card-foot", {}, problem(new Error(state.error)));
  if (!state.findings) return null;
  const since = state.since === null ? "" : `, received since ${time(state.since)} UTC`;
  return findings(state.findings, `${plural(state.findings.events, "event")} checked${since}${state.state === "stopped" ? "; the check was stopped" : ""}.`);
}

/** Return the card that checks pasted events. */
export function pastedCheckCard() {
  const result = h("div", { "aria-live": "polite" });
  const area = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "check-events", rows: 5, spellcheck: "false", placeholder: "OpenLineage events, one on each line" }));
  const file = h("input", { type: "file", id: "check-file", accept: ".json,.ndjson", onchange: async (/** @type {any} */ event) => { area.value = await event.target.files[0].text(); } });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    put(result, h("p.loading", { role: "status" }, "Checking …"));
    try {
      const answer = await post("check-events", area.value);
      put(result, findings(answer, `${plural(answer.events, "event")} checked.`));
    } catch (error) {
      put(result, h("div.card-foot", {}, problem(/** @type {Error} */ (error))));
    }
  };
  return h("section.card.flush", {}, h("div.card-head", {}, h("h2", {}, "Check pasted events"),
    h("p.soft", {}, "The same check for events that are in no log: paste the events of a day. Nothing is stored."),
    h("form.filters", { onsubmit: submit }, h("label.visually-hidden", { for: "check-events" }, "Events"), area, h("button.main", { type: "submit" }, "Check"), h("label", { for: "check-file" }, "or open a file", file))), result);
}

/** @param {any} answer @param {string} text @returns {import("../dom.js").Child} */
function findings(answer, text) {
  const growing = answer.findings.filter((/** @type {any} */ finding) => finding.is_growing);
  const others = answer.findings.filter((/** @type {any} */ finding) => !finding.is_growing);
  const isClean = !answer.findings.length && !answer.unknown_facets.length && !answer.unknown_platforms.length;
  return [
    h("p.soft.small.card-foot", {}, text),
    isClean && empty("No findings", "No name changes with the runs, and each facet and platform is known."),
    growing.length > 0 && part("Names that grow", "Each run or day makes other names, so the catalogue grows without end.", findingTable("Names that grow", growing)),
    answer.unknown_facets.length > 0 && part("Unknown facets", "No mapping reads them. Their fields become custom properties.",
      unknownTable("Unknown facets", ["Facet", "Of the"], answer.unknown_facets, (row) => row.name)),
    answer.unknown_platforms.length > 0 && part("Unknown platforms of datasets", "No file of mappings/naming knows them. The setting naming.rules gives a namespace another platform.",
      unknownTable("Unknown platforms of datasets", ["Platform", "Namespace"], answer.unknown_platforms, (row) => row.group)),
    others.length > 0 && part("Other findings", null, findingTable("Other findings", others)),
    answer.yaml && h("details.card-foot", {}, h("summary", {}, "Settings that solve them"), h("pre.code", { tabindex: 0 }, answer.yaml)),
  ];
}

/** @param {string} title @param {string|null} hint @param {import("../dom.js").Child} content */
const part = (title, hint, content) => h("div.part", {}, h("div.part-head", {}, h("h3", {}, title), hint && h("p.soft.small", {}, hint)), content);

/** @param {string} caption @param {any[]} rows */
function findingTable(caption, rows) {
  return table(caption, ["Problem", { text: "Count", number: true }, "Examples", "Events"], rows.map((finding) => [
    h("div.finding", {}, h("strong", {}, finding.title), h("div.name", {}, finding.text), h("div.soft", {}, prose(finding.harm), " ", finding.effect ? `A setting solves it (${finding.effect}).` : prose(finding.remedy))),
    count(finding.count), finding.examples.map((/** @type {string} */ example) => h("div.mono.name", { title: example }, cut(example, 120))),
    eventLinks(finding.positions, finding.search),
  ]));
}

/** @param {string} caption @param {string[]} heads @param {any[]} rows @param {(row: any) => string} searchOf */
function unknownTable(caption, heads, rows, searchOf) {
  return table(caption, [...heads, { text: "Events", number: true }, "Show"], rows.map((row) => [
    h("span.name.mono", {}, row.name), h("span.name", {}, row.group || "–"), count(row.events),
    row.position === null ? h("span.soft.name", {}, row.location) : eventLinks([row.position], searchOf(row)),
  ]));
}

/** @param {number[]} positions @param {string|null} search */
function eventLinks(positions, search) {
  return h("div.links", {},
    positions.map((position) => h("a.nowrap", { href: address("inspector", { example: `log:${position}` }) }, `event ${count(position)}`)),
    positions.length + (search ? 1 : 0) === 0 ? h("span.soft", {}, "–") : search && h("a.nowrap", { href: address("events", { q: search }) }, "find events"));
}
