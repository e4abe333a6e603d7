// All entities that match a text.

import { get } from "../api.js";
import { empty, entityLink, kindName, pagedList, table } from "../components.js";
import { h, put } from "../dom.js";

const PAGE = 100;
const TYPES = ["all", "datasets", "jobs", "flows", "runs", "checks"];

/** @param {import("../main.js").ViewContext} context */
export async function showSearch({ main, query, isCurrent, set }) {
  const text = query.get("q") ?? "";
  const type = query.get("type") ?? "all";
  const answer = await get("search", { q: text, type, limit: PAGE });
  if (!isCurrent()) return;
  main.className = "";
  const select = h("select", { id: "type", onchange: (/** @type {any} */ event) => set({ type: event.target.value }) },
    TYPES.map((name) => h("option", { value: name, selected: name === type }, name)));
  const { list, number } = pagedList(answer, (page) => page.entities, (page) => get("search", { q: text, type, limit: PAGE, page }), (entities) => (entities.length
    ? table("Matches", ["Name", "Type", "Platform", "URN"], entities.map((entity) => [entityLink(entity), kindName(entity.type), entity.platform, h("span.soft.mono.urn", {}, entity.urn)]))
    : empty("No entity matches", "The search looks at URNs, names, descriptions and names of columns. Try a shorter part of a name.")));
  put(main,
    h("div.head", {}, h("h1", {}, text ? `Entities with “${text}”` : "Entities"), number, h("div.actions", {}, h("label", { for: "type" }, "Type"), select)),
    h("section.card.flush", {}, list));
}
