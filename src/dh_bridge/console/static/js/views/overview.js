// The first view: what the file has, what happened lately, and what waits.

import { get } from "../api.js";
import { dayChart, SERIES_COLORS } from "../chart.js";
import { address, breakable, empty, kindName, problem, statusBadge, table } from "../components.js";
import { h, put } from "../dom.js";
import { age, bytes, count, plural, time } from "../format.js";

const FIGURES = [["dataset", "datasets"], ["dataJob", "jobs"], ["dataProcessInstance", "runs"], ["assertion", "checks"]];
const FIGURE_LINKS = { dataset: address("search", { type: "datasets" }), dataJob: address("search", { type: "jobs" }), dataProcessInstance: address("runs"), assertion: address("checks") };

/** @param {import("../main.js").ViewContext} context */
export async function showOverview({ main, isCurrent }) {
  const overview = await get("overview", { counts: 0 });
  if (!isCurrent()) return;
  main.className = "";
  const activity = h("div.activity", {}, h("p.loading", { role: "status" }, "Reading the runs …"));
  const figures = h("div.figures", {}, FIGURES.map(([type, noun]) => figure(null, noun, linkOf(type))), outboxFigure(overview.outbox));
  put(main,
    h("div.head", {}, h("h1", {}, overview.file), h("span.soft", {}, overview.is_ledger ? "ledger" : "catalogue")),
    overview.notes.map((/** @type {string} */ text) => h("p.note", {}, text)),
    figures, h("div.activity.pair", {}, eventCards(overview.events), sizeCard(overview)), activity);
  try {
    const [{ entities }, runs] = await Promise.all([
      get("overview").then((answer) => {
        if (isCurrent()) put(figures, FIGURES.map(([type, noun]) => figure(answer.entities[type] ?? 0, noun, linkOf(type))), outboxFigure(answer.outbox));
        return answer;
      }),
      get("activity"),
    ]);
    if (isCurrent()) put(activity, runCards(runs), otherEntities(entities));
  } catch (error) {
    if (isCurrent()) put(activity, problem(/** @type {Error} */ (error)));
  }
}

/** @param {string} type */
const linkOf = (type) => FIGURE_LINKS[/** @type {keyof FIGURE_LINKS} */ (type)];

/** @param {number|null} number null while it is counted @param {string} noun @param {string} href */
function figure(number, noun, href) {
  return h("a.figure", { href }, number === null ? h("b.pending", {}, "…") : h("b.counted", {}, count(number)), h("span", {}, number === 1 ? noun.slice(0, -1) : noun));
}

/** @param {{waiting: number, dead: number, oldest: number|null, is_paused: boolean}} outbox */
function outboxFigure(outbox) {
  const text = outbox.dead ? `waiting, ${plural(outbox.dead, "dead letter")}` : outbox.is_paused ? "waiting: deliveries are paused" : "waiting proposals";
  return h("a.figure", { href: address("problems"), title: outbox.oldest ? `the oldest since ${time(outbox.oldest)} UTC` : null }, h("b", {}, count(outbox.waiting)), h("span", {}, text));
}

/** Return the events by producer: counted as they are processed, so a catalogue that `emit` writes has them, too. @param {any} events */
function eventCards(events) {
  if (!events.producers.length) return null;
  return [
    events.days.length > 0 && chartCard("Events by day", events),
    h("section.card.flush", {},
      h("h2", {}, "Producers, last 60 days"),
      table("Events of each producer", ["Producer", { text: "Events", number: true }, { text: "Last event", number: true }],
        events.producers.map((/** @type {any} */ line) => [h("span.name", {}, breakable(line.producer)), count(line.count), lastEvent(line.last)]))),
  ];
}

/** @param {any} activity */
function runCards(activity) {
  const { runs } = activity;
  if (!runs.producers.length) return [h("section.card.wide-card", {}, empty("No runs yet", "Send events with ", h("code", {}, "dh-bridge emit EVENTS --to catalog:FILE"), "."))];
  return [
    chartCard("Runs by day", runs),
    h("section.card.flush", {},
      h("h2", {}, "Runs by orchestrator, last 60 days"),
      table("Runs of each orchestrator", ["Orchestrator", { text: "Runs", number: true }, { text: "Last event", number: true }],
        runs.producers.map((/** @type {any} */ line) => [h("span.name", {}, breakable(line.producer)), count(line.count), lastEvent(line.last)]))),
    h("section.card.flush", {},
      h("h2", {}, "Runs by state, last 60 days"),
      table("Runs by state", ["State", { text: "Runs", number: true }],
        Object.entries(activity.states).map(([status, number]) => [status === "FAILURE" ? h("a", { href: address("runs", { failed: "1" }) }, statusBadge(status)) : statusBadge(status), count(/** @type {number} */ (number))]))),
  ];
}

/** @param {string} title @param {any} activity */
function chartCard(title, activity) {
  const shown = activity.producers.slice(0, SERIES_COLORS);
  return h("section.card.wide-card", {},
    h("h2", {}, title),
    dayChart(title, activity.days, shown.map((/** @type {any} */ line) => ({ name: line.producer, values: line.by_day }))),
    h("p.legend", {}, shown.map((/** @type {any} */ line, /** @type {number} */ index) => h("span", {}, h(`i.swatch-${index + 1}`), line.producer))));
}

/** @param {number} millis */
const lastEvent = (millis) => h("span.nowrap", { title: `${time(millis)} UTC` }, age(millis));

/** @param {any} overview */
function sizeCard({ file_bytes, log_bytes, outbox }) {
  const rows = [
    ["File", bytes(file_bytes)],
    ["Event log", log_bytes === null ? "none" : bytes(log_bytes)],
    ["Outbox", outbox.waiting ? `${plural(outbox.waiting, "proposal")}, the oldest ${age(outbox.oldest)}` : "empty"],
    ["Dead letters", count(outbox.dead)],
  ];
  return h("section.card.flush", {}, h("h2", {}, "Sizes"), table("Sizes", ["Part", { text: "Size", number: true }], rows));
}

/** @param {Record<string, number>} entities */
function otherEntities(entities) {
  const shown = new Set(FIGURES.map(([type]) => type));
  const others = Object.entries(entities).filter(([type]) => !shown.has(type));
  if (!others.length) return null;
  return h("section.card.flush", {}, h("h2", {}, "Other entities"),
    table("Other entities", ["Type", { text: "Number", number: true }], others.map(([type, number]) => [kindName(type), count(number)])));
}
