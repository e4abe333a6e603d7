// The event inspector: an event with the outcome of each field, beside the aspects that it becomes.

import { get, post } from "../api.js";
import { address, empty, problem } from "../components.js";
import { h, put } from "../dom.js";
import { count, plural, time } from "../format.js";
import { connect } from "../inspector/connect.js";
import { aspectPane, eventPane } from "../inspector/panes.js";

const OUTCOMES = [
  ["mapped", "●", "mapped", "A field of DataHub holds the value."],
  ["property", "◆", "property", "A custom property holds the value."],
  ["lost", "▲", "dropped", "The value is not stored."],
  ["dropped", "○", "no loss", "The field is empty, repeats another field, or only describes its facet."],
];

/** The pasted event: kept while the page is open, as it may be too long for an address. */
let pasted = "";

/** @param {import("../main.js").ViewContext} context */
export async function showInspector({ main, query, isCurrent, set }) {
  const example = query.get("example") ?? "";
  const run = query.get("run") ?? "";
  const [{ examples }, logged, text] = await Promise.all([get("examples"), get("logged-events", { limit: 50 }), run ? runText(run) : example ? exampleText(example) : pasted]);
  if (!isCurrent()) return;
  main.className = "wide";
  const result = h("div", { "aria-live": "off" });
  const input = inputForm(text, !text, async (event) => {
    pasted = event;
    if (example || run || query.get("paste") === null) set({ example: "", run: "", paste: "1" });
    else await inspect(result, event);
  });
  put(main,
    h("div.head", {}, h("h1", {}, "Event inspector"), h("span.soft", {}, "What DataHub gets of an event, field by field."), h("div.actions", {}, logged.has_log && h("a.button", { href: address("events") }, "Events of the log"), exampleSelect(examples, logged.events, example, set))),
    input, result);
  if (text) await inspect(result, text);
  else if (run) put(result, h("section.card", {}, empty("The file does not have the events of this run", "Events are stored in the event log of the ledger, and deleted after log.retention_days.")));
  else put(result, h("section.card", {}, empty("No event yet", "Choose an example above, or paste an OpenLineage event. Nothing is stored, and nothing is sent to DataHub.")));
}

const LOG = "log";

/** @param {string} example such as "dbt:3", or "log:17" for an event of the log */
async function exampleText(example) {
  const [file, position] = example.split(":");
  return (await (file === LOG ? get("logged-event", { position }) : get("example", { file, position }))).text;
}

/** @param {string} urn */
const runText = async (urn) => (await get("run-events", { urn })).text;

/** @param {any[]} examples @param {any[]} logged @param {string} chosen @param {(values: Record<string, any>) => void} set */
function exampleSelect(examples, logged, chosen, set) {
  const files = [...new Set(examples.map((example) => example.file))];
  return h("label", { for: "example" }, "Event", h("select", { id: "example", onchange: (/** @type {any} */ event) => set({ example: event.target.value, run: "", paste: "" }) },
    h("option", { value: "" }, "choose an event …"),
    logged.length > 0 && h("optgroup", { label: "latest events of the log" }, logged.map((event) => {
      const value = `${LOG}:${event.position}`;
      return h("option", { value, selected: value === chosen }, `${time(event.received)} ${event.type ?? "event"} ${event.job}`);
    })),
    files.map((file) => h("optgroup", { label: `example: ${file}` }, examples.filter((example) => example.file === file).map((example) => {
      const value = `${example.file}:${example.position}`;
      return h("option", { value, selected: value === chosen }, example.title);
    })))));
}

/** @param {string} text @param {boolean} isOpen @param {(text: string) => Promise<void>} onSubmit */
function inputForm(text, isOpen, onSubmit) {
  const area = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "event", rows: 8, spellcheck: "false", placeholder: '{"eventType": "COMPLETE", "run": {…}, "job": {…}, …}' }));
  area.value = text;
  const file = h("input", { type: "file", id: "file", accept: ".json,.ndjson", onchange: async (/** @type {any} */ event) => { area.value = await event.target.files[0].text(); } });
  return h("details.card", { open: isOpen }, h("summary", {}, "Paste an event, or an array or lines of events"),
    h("form.filters", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); onSubmit(area.value); } },
      h("label.visually-hidden", { for: "event" }, "Event"), area,
      h("button.main", { type: "submit" }, "Inspect"), h("label", { for: "file" }, "or open a file", file)));
}

/** @param {HTMLElement} box @param {string} text */
async function inspect(box, text) {
  put(box, h("p.loading", { role: "status" }, "Translating …"));
  try {
    showInspection(box, await post("inspect", text));
  } catch (error) {
    put(box, problem(/** @type {Error} */ (error)));
  }
}

/** @param {HTMLElement} box @param {any} inspection */
function showInspection(box, inspection) {
  const notes = [
    ...inspection.unusable.map((/** @type {any} */ event) => h("p.note.bad", {}, `${event.location} cannot be used: ${event.reason}`)),
    ...inspection.rejected.map((/** @type {string} */ reason) => h("p.note.bad", {}, `DataHub would reject a proposal: ${reason}`)),
    ...Object.entries(inspection.filtered).map(([rule, number]) => h("p.note", {}, `The settings leave out ${plural(/** @type {number} */ (number), "event")}: ${rule}`)),
  ];
  if (!inspection.events.length) {
    put(box, notes);
    return;
  }
  const detail = h("dl.field-detail", { "aria-live": "polite" }, h("dt", {}, "Field"), h("dd.soft", {}, "Point at a field, or move with the arrow keys, to see what it becomes."));
  const events = eventPane(inspection.events, OUTCOMES);
  const aspects = aspectPane(inspection.entities);
  put(box, h("div.inspection", {}, notes, outcomeButtons(inspection.events, events.body), detail, h("div.inspector", {}, events.pane, aspects.pane)));
  connect(inspection, events.body, aspects.body, detail);
}

/** @param {any[]} events @param {HTMLElement} body */
function outcomeButtons(events, body) {
  const fields = events.flatMap((event) => event.fields);
  const buttons = OUTCOMES.map(([name, mark, text, meaning]) => {
    const number = fields.filter((field) => outcomeOf(field) === name).length;
    return h(`button.${name}`, { type: "button", title: meaning, "aria-pressed": "false", onclick: (/** @type {any} */ event) => {
      const button = event.currentTarget;
      const isOn = button.getAttribute("aria-pressed") === "true";
      for (const other of buttons) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(!isOn));
      body.className = `pane-body${isOn ? "" : ` only-${name}`}`;
      if (!isOn) body.querySelector(`.line.${name}`)?.scrollIntoView({ block: "center" });
    } }, h("span", { "aria-hidden": "true" }, mark), `${count(number)} ${text}`);
  });
  return h("div.outcomes", { role: "group", "aria-label": "Fields by outcome" }, buttons);
}

/** @param {{outcome: string, is_loss: boolean}} field */
export const outcomeOf = (field) => (field.outcome === "dropped" && field.is_loss ? "lost" : field.outcome);
