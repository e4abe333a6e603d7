// The first view: what the file has, what happened lately, and what waits.

import { get } from "../api.js";
import { dayChart, SERIES_COLORS } from "../chart.js";
import { address, empty, kindName, problem, statusBadge, table } from "../components.js";
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
    h("div.head", {}, h("h1", {}, overview.file), h("span.soft", {}, `${overview.is_ledger ? "ledger" : "catalogue"}, ${bytes(overview.file_bytes)}${overview.log_bytes === null ? "" : `, event log ${bytes(overview.log_bytes)}`}`)),
    overview.notes.map((/** @type {string} */ text) => h("p.note", {}, text)),
    figures, activity);
  try {
    const { entities } = await get("overview");
    if (!isCurrent()) return;
    put(figures, FIGURES.map(([type, noun]) => figure(entities[type] ?? 0, noun, linkOf(type))), outboxFigure(overview.outbox));
    const answer = await get("activity");
    if (isCurrent()) put(activity, activityCards(answer), otherEntities(entities));
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

/** @param {any} activity */
function activityCards(activity) {
  if (!activity.producers.length) return [h("section.card", {}, empty("No runs yet", "Send events with ", h("code", {}, "dh-bridge emit EVENTS --to catalog:FILE"), "."))];
  const shown = activity.producers.slice(0, SERIES_COLORS);
  return [
    h("section.card.wide-card", {},
      h("h2", {}, "Runs by day"),
      dayChart(activity.days, shown.map((/** @type {any} */ line) => ({ name: line.producer, values: line.by_day }))),
      h("p.legend", {}, shown.map((/** @type {any} */ line, /** @type {number} */ index) => h("span", {}, h(`i.swatch-${index + 1}`), line.producer)))),
    h("section.card.flush", {},
      h("h2", {}, "Producers, last 60 days"),
      table("Runs of each producer", ["Producer", { text: "Runs", number: true }, "Last event"],
        activity.producers.map((/** @type {any} */ line) => [h("span.name", {}, line.producer), count(line.runs), h("span", { title: `${time(line.last_event)} UTC` }, `${age(line.last_event)}`)]))),
    h("section.card.flush", {},
      h("h2", {}, "Runs by state, last 60 days"),
      table("Runs by state", ["State", { text: "Runs", number: true }],
        Object.entries(activity.states).map(([status, number]) => [status === "FAILURE" ? h("a", { href: address("runs", { failed: "1" }) }, statusBadge(status)) : statusBadge(status), count(/** @type {number} */ (number))]))),
  ];
}

/** @param {Record<string, number>} entities */
function otherEntities(entities) {
  const shown = new Set(FIGURES.map(([type]) => type));
  const others = Object.entries(entities).filter(([type]) => !shown.has(type));
  if (!others.length) return null;
  return h("section.card.flush", {}, h("h2", {}, "Other entities"),
    table("Other entities", ["Type", { text: "Number", number: true }], others.map(([type, number]) => [kindName(type), count(number)])));
}
