// What needs attention: each problem as a list that leads to its entities, with the act that solves it.

import { get, post } from "../api.js";
import { address, empty, problem, table } from "../components.js";
import { announce, h, put } from "../dom.js";
import { count, plural, time } from "../format.js";

/** @param {import("../main.js").ViewContext} context */
export async function showProblems({ main, isCurrent, set }) {
  const [problems, page] = await Promise.all([get("problems"), get("dead-letters")]);
  if (!isCurrent()) return;
  main.className = "";
  const number = problems.waiting.length + problems.dead_letters + problems.failed_runs + problems.failed_checks + problems.unknown_platforms.length;
  put(main,
    h("div.head", {}, h("h1", {}, "Problems")),
    !number && h("section.card", {}, empty("No problems", "Nothing waits, nothing was rejected, no run and no check failed.")),
    h("div.figures", {},
      link(problems.failed_runs, "failed runs", address("runs", { failed: "1" })),
      link(problems.failed_checks, "failed checks", address("checks", { failed: "1" })),
      link(problems.dead_letters, "dead letters", "#dead-letters"), link(problems.waiting.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.count, 0), "waiting proposals", "#waiting")),
    problems.dead_letters > 0 && deadLetters(problems.dead_letters, page, () => set({})),
    problems.waiting.length > 0 && waiting(problems),
    problems.unknown_platforms.length > 0 && platforms(problems.unknown_platforms),
    checkForm());
}

/** @param {number} number @param {string} noun @param {string} href */
function link(number, noun, href) {
  const content = [h("b", {}, count(number)), h("span", {}, number === 1 ? noun.replace(/s$/, "") : noun)];
  return href.startsWith("#/") ? h("a.figure", { href }, content) : h("div.figure", {}, content);
}

/** @param {number} total @param {any} first @param {() => void} reload */
function deadLetters(total, first, reload) {
  const rows = h("div");
  const status = h("p.soft.small", { role: "status" }, `${plural(total, "proposal")} that the server rejected. A retry queues a proposal again; the next emit sends it. A dropped one is sent again with the next event of its entity.`);
  /** @type {any[]} */
  let letters = [];
  /** @param {any} page */
  const add = (page) => {
    letters = [...letters, ...page.letters];
    put(rows, table("Dead letters", ["Entity", "Aspect", "Words of the server", "Since (UTC)", "Act"], letters.map((letter) => [
      h("a.name.mono", { href: address("entity", { urn: letter.urn }) }, letter.urn), letter.aspect, h("span.name", {}, letter.reason), h("span.nowrap", {}, time(letter.since)),
      h("div.actions", {}, act("Retry", "retry", [letter.number]), act("Drop", "drop", [letter.number])),
    ])), page.next !== null && h("button", { type: "button", onclick: async () => add(await get("dead-letters", { after: page.next })) }, "Show more"));
  };
  /** @param {string} text @param {string} action @param {number[]|null} numbers */
  const act = (text, action, numbers) => h(action === "drop" ? "button.danger" : "button", { type: "button", onclick: async () => {
    if (numbers === null && action === "drop" && !confirm(`Drop ${plural(total, "dead letter")}?`)) return;
    try {
      const { count: changed } = await post("edit-dead-letters", JSON.stringify({ action, numbers }));
      announce(`${plural(changed, "dead letter")} ${action === "drop" ? "dropped" : "queued again"}`);
      reload();
    } catch (error) {
      put(status, /** @type {Error} */ (error).message);
    }
  } }, text);
  add(first);
  return h("section.card", {}, h("div.head", {}, h("h2", {}, "Dead letters"), h("div.actions", {}, act("Retry all", "retry", null), act("Drop all", "drop", null))), status, rows);
}

/** @param {any} problems */
function waiting(problems) {
  return h("section.card.flush", {}, h("h2", {}, problems.is_paused ? "Waiting: deliveries are paused (dh-bridge queue resume)" : "Waiting"),
    table("Waiting proposals", [{ text: "Proposals", number: true }, "Of", "Since (UTC)", "Reason"],
      problems.waiting.map((/** @type {any} */ group) => [count(group.count), group.entity_type, h("span.nowrap", {}, time(group.oldest)), group.reason])));
}

/** @param {any[]} rows */
function platforms(rows) {
  return h("section.card.flush", {}, h("h2", {}, "Unknown platforms"),
    table("Unknown platforms", ["Platform", { text: "Datasets", number: true }, "Example"], rows.map((row) => [
      h("span.name", {}, row.platform), count(row.datasets), h("a.mono.name", { href: address("lineage", { urn: row.example }) }, row.example)])),
    h("p.soft.small.card-foot", {}, "DataHub has no connector for them, and shows no logo. A file in mappings/naming names a system; the setting naming.rules gives a namespace another platform."));
}

/** Return the form that checks events, as `dh-bridge check` does. */
function checkForm() {
  const result = h("div", { "aria-live": "polite" });
  const area = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "check-events", rows: 5, spellcheck: "false", placeholder: "OpenLineage events, one on each line" }));
  const file = h("input", { type: "file", id: "check-file", accept: ".json,.ndjson", onchange: async (/** @type {any} */ event) => { area.value = await event.target.files[0].text(); } });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    put(result, h("p.loading", { role: "status" }, "Checking …"));
    try {
      put(result, findings(await post("check-events", area.value)));
    } catch (error) {
      put(result, problem(/** @type {Error} */ (error)));
    }
  };
  return h("section.card", {}, h("h2", {}, "Check events"),
    h("p.soft", {}, "Find what would make a messy catalogue: names that change with every run, one table under several names, unknown systems, invalid events. Paste the events of a day."),
    h("form.filters", { onsubmit: submit }, h("label.visually-hidden", { for: "check-events" }, "Events"), area, h("button.main", { type: "submit" }, "Check"), h("label", { for: "check-file" }, "or open a file", file)), result);
}

/** @param {{events: number, findings: any[], yaml: string}} answer */
function findings(answer) {
  if (!answer.findings.length) return empty("No findings", `${plural(answer.events, "event")} checked.`);
  return [
    table("Findings", ["Kind", "Problem", { text: "Count", number: true }, "Examples"], answer.findings.map((finding) => [
      h("span.nowrap", {}, finding.kind), finding.text, count(finding.count), finding.examples.map((/** @type {string} */ example) => h("div.mono.name", {}, example))])),
    answer.yaml && [h("h3", {}, "Settings that solve them"), h("pre.code", { tabindex: 0 }, answer.yaml)],
  ];
}
