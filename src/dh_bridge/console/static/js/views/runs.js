// The runs of a job, a dataset, or all, with filters.

import { get } from "../api.js";
import { address, durationBar, empty, entityLink, pagedList, statusBadge, table } from "../components.js";
import { h, put } from "../dom.js";
import { time } from "../format.js";

const PAGE = 50;

/** @param {import("../main.js").ViewContext} context */
export async function showRuns({ main, query, isCurrent, set }) {
  const filters = { failed: query.get("failed") ?? "", since: query.get("since") ?? "", job: query.get("job") ?? "", urn: query.get("urn") ?? "" };
  const answer = await get("runs", { ...filters, limit: PAGE });
  if (!isCurrent()) return;
  main.className = "";
  const { list, number } = pagedList(answer, (page) => page.runs, (page) => get("runs", { ...filters, limit: PAGE, page }), (runs) => (runs.length
    ? runTable(runs)
    : empty("No run matches", "Choose all states, an earlier time, or another part of a job's name.")));
  put(main,
    h("div.head", {}, h("h1", {}, "Runs"), number),
    filters.urn && h("p", {}, "Runs of ", h("span.mono.name", {}, filters.urn), " ", h("button", { type: "button", onclick: () => set({ urn: "" }) }, "Show all runs")),
    filterForm(filters, set),
    h("section.card.flush", {}, list));
}

/** @param {Record<string, string>} filters @param {(values: Record<string, any>) => void} set */
function filterForm(filters, set) {
  const failed = h("input", { id: "failed", type: "checkbox", checked: filters.failed === "1", onchange: (/** @type {any} */ event) => set({ failed: event.target.checked ? "1" : "" }) });
  const since = h("input", { id: "since", type: "date", value: filters.since.slice(0, 10), onchange: (/** @type {any} */ event) => set({ since: event.target.value }) });
  const job = h("input", { id: "job", type: "search", value: filters.job, placeholder: "part of a name", onchange: (/** @type {any} */ event) => set({ job: event.target.value }) });
  return h("form.filters", { onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    h("label", { for: "failed" }, failed, "Only failures"), h("label", { for: "since" }, "Since", since), h("label", { for: "job" }, "Job", job));
}

/**
 * Return a table of runs with bars for their durations.
 * @param {any[]} runs
 */
export function runTable(runs) {
  const longest = Math.max(...runs.map((run) => run.duration ?? 0));
  return table("Runs", ["State", "Job", "Run", "Started (UTC)", "Duration", "Error"],
    runs.map((run) => [
      statusBadge(run.status),
      run.job ? entityLink(run.job) : h("span.soft", {}, "–"),
      h("a.mono.nowrap", { href: address("run", { urn: run.urn }), title: run.urn }, run.name.length > 24 ? `${run.name.slice(0, 8)}…${run.name.slice(-6)}` : run.name),
      h("span.nowrap", {}, time(run.started)),
      durationBar(run.duration, longest, run.status),
      run.error ? h("span.soft", { title: run.error }, run.error.length > 70 ? `${run.error.slice(0, 70)}…` : run.error) : "",
    ]));
}
