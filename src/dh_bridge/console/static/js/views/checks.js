// Data quality checks, and the results of one check over time.

import { get } from "../api.js";
import { address, empty, entityLink, pagedList, statusBadge, table, toneOf } from "../components.js";
import { h, put } from "../dom.js";
import { plural, time } from "../format.js";

const PAGE = 100;

/** @param {import("../main.js").ViewContext} context */
export async function showChecks({ main, query, isCurrent, set }) {
  const failed = query.get("failed");
  const answer = await get("checks", { limit: PAGE, failed });
  if (!isCurrent()) return;
  main.className = "";
  const { list, number } = pagedList(answer, (page) => page.checks, (page) => get("checks", { limit: PAGE, failed, page }), (checks) => (checks.length
    ? table("Checks", ["Latest result", "Check", "Column", "Dataset", "Time (UTC)"], checks.map((check) => [
      statusBadge(check.result), h("a.name", { href: address("check", { urn: check.urn }) }, check.name), h("span.mono", {}, check.column ?? ""),
      check.dataset ? entityLink(check.dataset) : "", h("span.nowrap", {}, check.time ? check.time.slice(0, 19).replace("T", " ") : "–"),
    ]))
    : empty(failed ? "No failed check" : "No checks yet", failed ? "The latest result of each check is a success." : "Results of dbt tests and Great Expectations become checks. See docs/senders.md.")));
  put(main,
    h("div.head", {}, h("h1", {}, "Checks"), number,
      h("div.actions", {}, h("label", { for: "failed" }, h("input", { type: "checkbox", id: "failed", checked: failed === "1", onchange: (/** @type {any} */ event) => set({ failed: event.target.checked ? "1" : "" }) }), "Only failures"))),
    h("section.card.flush", {}, list));
}

/** @param {import("../main.js").ViewContext} context */
export async function showCheck({ main, query, isCurrent }) {
  const answer = await get("check", { urn: query.get("urn") });
  if (!isCurrent()) return;
  main.className = "";
  const [latest] = answer.results;
  if (!latest) {
    put(main, h("section.card", {}, empty("No results", "The check is defined, but no event has a result of it yet.")));
    return;
  }
  const newestLast = [...answer.results].reverse();
  put(main,
    h("div.head", {}, h("h1", {}, latest.check), statusBadge(latest.result), h("span.soft.small", {}, `${plural(answer.results.length, "result")}${answer.next_page ? " shown, and older ones" : ""}`)),
    h("section.card", {}, h("h2", {}, "Results over time"),
      h("p.results", { role: "img", "aria-label": `${newestLast.filter((result) => toneOf(result.result) === "bad").length} of ${newestLast.length} results failed` },
        newestLast.map((result) => h(`span.result-dot${toneOf(result.result) ? `.${toneOf(result.result)}` : ""}`, { title: `${time(result.time)}: ${result.result}` }))),
      h("p.soft.small", {}, `The oldest result is on the left: ${time(newestLast[0].time)} UTC.`)),
    h("section.card.flush", {}, table("Results", ["Result", "Time (UTC)", "Column", "Actual", "Expected", "Run"], answer.results.map((/** @type {any} */ result) => [
      statusBadge(result.result), h("span.nowrap", {}, time(result.time)), h("span.mono", {}, result.column ?? ""), h("span.mono", {}, result.actual ?? ""), h("span.mono", {}, result.expected ?? ""),
      result.run_id ? h("a.mono", { href: address("run", { urn: `urn:li:dataProcessInstance:${result.run_id}` }) }, result.run_id.slice(0, 8)) : "",
    ]))));
}
