// What needs attention: each problem as a list that leads to its entities or events, with the act that solves it.

import { get } from "../api.js";
import { address, empty, table } from "../components.js";
import { h, put } from "../dom.js";
import { count, time } from "../format.js";
import { deadLetters } from "../problems/dead_letters.js";
import { logCheckCard, pastedCheckCard } from "../problems/event_check.js";
import { nearMissCard } from "../problems/near_misses.js";

/** @param {import("../main.js").ViewContext} context */
export async function showProblems({ main, isCurrent, set }) {
  const [problems, page, check] = await Promise.all([get("problems"), get("dead-letters"), get("log-check")]);
  if (!isCurrent()) return;
  main.className = "";
  const waitingCount = problems.waiting.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.count, 0);
  const number = waitingCount + problems.dead_letters + problems.unknown_platforms.length;
  const none = h("section.card", { hidden: true }, empty("No problems", "Nothing waits, nothing was rejected, no run and no check failed."));
  const figures = h("div.figures");
  /** @param {{failed_runs: number, failed_checks: number}|null} failures null while they are counted */
  const showFigures = (failures) => put(figures,
    figure(failures && failures.failed_runs, "failed runs", address("runs", { failed: "1" })),
    figure(failures && failures.failed_checks, "failed checks", address("checks", { failed: "1" })),
    figure(problems.dead_letters, "dead letters"), figure(waitingCount, "waiting proposals"));
  showFigures(null);
  put(main,
    h("div.head", {}, h("h1", {}, "Problems"), h("span.soft", {}, "What failed, what waits, and what would make a messy catalogue.")),
    none, figures,
    problems.dead_letters > 0 && deadLetters(problems.dead_letters, page, () => set({})),
    problems.waiting.length > 0 && waiting(problems),
    problems.unknown_platforms.length > 0 && platforms(problems.unknown_platforms, check.has_log),
    logCheckCard(check, isCurrent),
    nearMissCard(problems.server),
    pastedCheckCard());
  const failures = await get("failures");
  if (!isCurrent()) return;
  showFigures(failures);
  none.hidden = number + failures.failed_runs + failures.failed_checks > 0;
}

/** @param {number|null} number null while it is counted @param {string} noun @param {string} [href] */
function figure(number, noun, href) {
  const content = [h("b", {}, number === null ? "…" : count(number)), h("span", {}, number === 1 ? noun.replace(/s$/, "") : noun)];
  return href ? h("a.figure", { href }, content) : h("div.figure", {}, content);
}

/** @param {any} problems */
function waiting(problems) {
  return h("section.card.flush", {}, h("h2", {}, problems.is_paused ? "Waiting: deliveries are paused (dh-bridge queue resume)" : "Waiting"),
    table("Waiting proposals", ["Reason", "Of", "Since (UTC)", { text: "Proposals", number: true }],
      problems.waiting.map((/** @type {any} */ group) => [h("span.name", {}, group.reason), group.entity_type, h("span.nowrap", {}, time(group.oldest)), count(group.count)])));
}

/** @param {any[]} rows @param {boolean} hasLog */
function platforms(rows, hasLog) {
  return h("section.card.flush", {}, h("h2", {}, "Unknown platforms"),
    table("Unknown platforms", ["Platform", { text: "Datasets", number: true }, "Example", ...(hasLog ? ["Events"] : [])], rows.map((row) => [
      h("span.name", {}, row.platform), count(row.datasets), h("a.mono.name", { href: address("lineage", { urn: row.example }) }, row.example),
      ...(hasLog ? [h("a.nowrap", { href: address("events", { q: nameOf(row.example) }) }, "show events")] : [])])),
    h("p.soft.small.card-foot", {}, "DataHub has no connector for them, and shows no logo. A file in mappings/naming names a system; the setting naming.rules gives a namespace another platform."));
}

/** Return the last part of the name in the URN of a dataset, which its events contain. @param {string} urn */
const nameOf = (urn) => urn.split(",").slice(1, -1).join(",").split(/[./]/).pop() ?? "";
