// Dead letters: proposals that the server rejected, with its words, and the acts that solve them.

import { get, post } from "../api.js";
import { address, table } from "../components.js";
import { announce, h, put } from "../dom.js";
import { plural, time } from "../format.js";

/** @param {number} total @param {any} first the first page @param {() => void} reload */
export function deadLetters(total, first, reload) {
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
    ])), page.next !== null && h("p.card-foot", {}, h("button", { type: "button", onclick: async () => add(await get("dead-letters", { after: page.next })) }, "Show more")));
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
  return h("section.card.flush", {},
    h("div.card-head", {}, h("div.head", {}, h("h2", {}, "Dead letters"), h("div.actions", {}, act("Retry all", "retry", null), act("Drop all", "drop", null))), status),
    rows);
}
