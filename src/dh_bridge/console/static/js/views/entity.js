// Any entity: its aspects as JSON, and its relationships.

import { get } from "../api.js";
import { breakable, entityLink, kindName, table } from "../components.js";
import { h, put } from "../dom.js";
import { plural } from "../format.js";

/** @param {import("../main.js").ViewContext} context */
export async function showEntity({ main, query, isCurrent }) {
  const details = await get("entity", { urn: query.get("urn") });
  if (!isCurrent()) return;
  main.className = "";
  put(main,
    h("div.head", {}, h("h1", {}, breakable(details.entity.name)), h("span.soft", {}, [kindName(details.entity.type), details.entity.platform].filter(Boolean).join(" · ")), details.is_removed && h("span.badge.warn", {}, "removed")),
    h("p.mono.name.soft", {}, details.entity.urn),
    details.raw_names.length > 0 && h("p.soft", {}, "In OpenLineage: ", details.raw_names.map((/** @type {string[]} */ pair) => h("span.mono.name", {}, `${pair[0]} ${pair[1]} `))),
    Object.entries(details.aspects).map(([name, value]) => h("details.card", {}, h("summary", {}, name), h("pre.code", { tabindex: 0 }, JSON.stringify(value, null, 2)))),
    Object.entries(details.points).map(([name, points]) => h("details.card", {}, h("summary", {}, `${name}: ${plural(/** @type {any[]} */ (points).length, "point")}`), h("pre.code", { tabindex: 0 }, JSON.stringify(points, null, 2)))),
    relations("Relationships", details.relationships), relations("Referred to by", details.referrers));
}

/** @param {string} title @param {any[]} rows */
function relations(title, rows) {
  return rows.length > 0 && h("section.card.flush", {}, h("h2", {}, title),
    table(title, ["Relationship", "Aspect", "Entity"], rows.map((row) => [row.name, row.aspect, entityLink(row.entity)])));
}
