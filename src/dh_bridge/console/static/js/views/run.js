// One run: its family on a time line, its datasets with rows and bytes, its SQL, its error, and what was sent for each event.

import { get } from "../api.js";
import { address, breakable, entityLink, statusBadge, table, toneOf } from "../components.js";
import { h, put, s } from "../dom.js";
import { duration, shorten, time } from "../format.js";
import { runTable } from "./runs.js";

const ROW = 22;
const MAX_BARS = 40;

/** @param {import("../main.js").ViewContext} context */
export async function showRun({ main, query, isCurrent }) {
  const details = await get("run", { urn: query.get("urn") });
  if (!isCurrent()) return;
  main.className = "";
  const { run } = details;
  put(main,
    h("div.head", {}, h("h1", {}, breakable(run.job ? run.job.name : run.name)), statusBadge(run.status), h("div.actions", {}, h("a.button", { href: address("inspector", { run: run.urn }) }, "Inspect its events"))),
    h("section.card", {}, h("dl.facts", {},
      fact("Run", h("span.mono", {}, run.name)),
      run.job && fact("Job", entityLink(run.job)),
      details.parent && fact("Parent", runLink(details.parent)),
      fact("Started", `${time(run.started)} UTC`), fact("Last event", `${time(run.updated)} UTC`), fact("Duration", duration(run.duration)),
      run.attempt !== null && fact("Attempt", String(run.attempt)),
      details.link && /^https?:/.test(details.link) && fact("Link", h("a", { href: details.link, rel: "noreferrer", target: "_blank" }, details.link))),
      run.error && h("pre.error-text", { tabindex: 0 }, run.error)),
    family(details),
    h("div.columns-2", {}, datasets("Inputs", details.inputs), datasets("Outputs", details.outputs)),
    details.sql && h("section.card", {}, h("h2", {}, "SQL"), h("pre.code", { tabindex: 0 }, details.sql)),
    details.children.length > 0 && h("section.card.flush", {}, h("h2", {}, "Children"), runTable(details.children)),
    details.upstream.length > 0 && h("section.card.flush", {}, h("h2", {}, "Upstream runs"), runTable(details.upstream)),
    historyCard(details.history), propertyCard(details.properties));
}

/** @param {string} name @param {import("../dom.js").Child} value */
const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];

/** @param {any} run */
const runLink = (run) => h("a.name", { href: address("run", { urn: run.urn }), title: run.urn }, run.job ? run.job.name : run.name);

/** Return the parent, the run and its children as bars over one axis of time. @param {any} details */
function family(details) {
  const runs = [details.parent, details.run, ...details.children].filter((run) => run && run.started !== null).slice(0, MAX_BARS);
  if (runs.length < 2) return null;
  const begin = Math.min(...runs.map((run) => run.started));
  const end = Math.max(...runs.map((run) => Math.max(run.updated, run.started + (run.duration ?? 0))), begin + 1);
  const width = 1000, left = 300, scale = (width - left - 70) / (end - begin);
  const bars = runs.map((run, index) => {
    const x = left + (run.started - begin) * scale;
    const length = Math.max(3, (Math.max(run.updated, run.started + (run.duration ?? 0)) - run.started) * scale);
    const name = `${run === details.run ? "" : run === details.parent ? "parent: " : "child: "}${run.job ? run.job.name : run.name}`;
    return s("g", {}, s("title", {}, `${name}: ${run.status}, ${duration(run.duration)}`),
      s("text", { x: 0, y: index * ROW + 15 }, shorten(name, 46)),
      s("rect", { x, y: index * ROW + 5, width: length, height: 12, rx: 3, fill: toneOf(run.status) === "bad" ? "var(--bad)" : run === details.run ? "var(--accent)" : "var(--line-strong)" }),
      s("text", { x: Math.min(x + length + 6, width - 66), y: index * ROW + 15 }, duration(run.duration)));
  });
  return h("section.card.timeline", {}, h("h2", {}, "Parent and children"),
    s("svg", { viewBox: `0 0 ${width} ${runs.length * ROW + 4}`, role: "img", "aria-label": "Durations of the parent, the run and its children" }, bars));
}

/** @param {string} title @param {any[]} entries */
function datasets(title, entries) {
  const metrics = [...new Set(entries.flatMap((entry) => Object.keys(entry.metrics)))];
  return h("section.card.flush", {}, h("h2", {}, title), entries.length
    ? table(title, ["Dataset", "Platform", ...metrics.map((text) => ({ text, number: true }))],
      entries.map((entry) => [entityLink(entry.dataset), entry.dataset.platform, ...metrics.map((name) => entry.metrics[name] ?? "")]))
    : h("p.empty", {}, `The events name no ${title.toLowerCase()}.`));
}

/** @param {any[]|null} history */
function historyCard(history) {
  return h("section.card", {}, h("h2", {}, "Events, and what was sent for each"), history === null
    ? h("p.soft", {}, "The file has no history of this run. ", h("code", {}, "dh-bridge emit EVENTS --to catalog:FILE"), " and ", h("code", {}, "--ledger"), " store one.")
    : h("ol.history", {}, history.map((event) => h("li", {},
      h("span.nowrap", {}, time(event.time)), " ", h("strong", {}, event.type ?? "event"), " ", h("span.soft.name", {}, event.producer ?? ""),
      Object.entries(event.sent).map(([urn, aspects]) => h("div.soft", {}, h("span.mono.name", {}, urn), `: ${/** @type {string[]} */ (aspects).join(", ")}`))))));
}

/** @param {Record<string, string>} properties */
function propertyCard(properties) {
  const names = Object.keys(properties);
  return names.length > 0 && h("details.card", {}, h("summary", {}, `Properties (${names.length})`),
    h("dl.facts", {}, names.map((name) => fact(name, h("span.mono", {}, properties[name])))));
}
