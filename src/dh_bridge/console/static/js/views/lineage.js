// The lineage around a dataset or job. The address has all that the view needs, so it can be sent to others.

import { get } from "../api.js";
import { address, breakable, empty, entityLink, kindName, table } from "../components.js";
import { h, put } from "../dom.js";
import { count } from "../format.js";
import { showBoard } from "../graph/board.js";
import { exportButtons } from "../graph/export_buttons.js";

const DIRECTIONS = { both: "up and down", up: "upstream", down: "downstream" };

/** @param {import("../main.js").ViewContext} context */
export async function showLineage({ main, query, isCurrent, set }) {
  const urn = query.get("urn");
  if (!urn) return showStart(main, isCurrent);
  const options = { direction: query.get("direction") ?? "both", depth: query.get("depth") ?? "4", nodes: query.get("nodes") ?? "200", fold: query.get("fold") ?? "1" };
  const view = await get("lineage", { urn, ...options });
  if (!isCurrent()) return;
  main.className = "wide";
  const root = view.nodes[0];
  const box = h("div.lineage");
  put(main, h("div.head", {}, h("h1", {}, breakable(root.name)), h("span.soft", {}, `${kindName(root.type)} · ${root.platform} · ${count(view.nodes.length)} nodes${view.folded ? `, ${count(view.folded)} temporary datasets folded` : ""}`), h("div.actions", {}, controls(options, set), exportButtons(() => board, view, root.name))), box);
  const board = showBoard(box, view, {
    columns: async (dataset) => (await get("columns", { urn: dataset })).columns,
    columnPath: async (dataset, column) => (await get("column-lineage", { urn: dataset, column })).edges,
    links: (item) => [
      item.urn !== urn && h("a.button", { href: address("lineage", { urn: item.urn, ...options }) }, "Centre here"),
      h("a.button", { href: address("runs", { urn: item.urn }) }, "Runs"),
      h("a.button", { href: address("entity", { urn: item.urn }) }, "Aspects"),
    ],
    cutHint: ": click +N, or show more steps and nodes",
    centre: (other) => set({ urn: other }),
  });
}

/** @param {Record<string, string>} options @param {(values: Record<string, any>) => void} set */
function controls(options, set) {
  const direction = h("select", { id: "direction", onchange: (/** @type {any} */ event) => set({ direction: event.target.value }) },
    Object.entries(DIRECTIONS).map(([value, text]) => h("option", { value, selected: value === options.direction }, text)));
  const depth = h("input", { id: "depth", type: "number", min: 1, max: 50, value: options.depth, onchange: (/** @type {any} */ event) => set({ depth: event.target.value }) });
  const nodes = h("select", { id: "nodes", onchange: (/** @type {any} */ event) => set({ nodes: event.target.value }) },
    ["50", "200", "500"].map((value) => h("option", { value, selected: value === options.nodes }, value)));
  return [h("label", { for: "direction" }, "Show", direction), h("label", { for: "depth" }, "Steps", depth), h("label", { for: "nodes" }, "Nodes, at most", nodes),
    h("label", { for: "fold", title: "Skip temporary and staging datasets of known tools" }, h("input", { id: "fold", type: "checkbox", checked: options.fold === "1", onchange: (/** @type {any} */ event) => set({ fold: event.target.checked ? "1" : "0" }) }), "Fold temporary")];
}

/** @param {HTMLElement} main @param {() => boolean} isCurrent */
async function showStart(main, isCurrent) {
  const answer = await get("search", { type: "datasets", limit: 50 });
  if (!isCurrent()) return;
  main.className = "";
  put(main, h("h1", {}, "Lineage"),
    answer.entities.length
      ? [h("p.soft", {}, "Choose a dataset, or search for a dataset, job or column above (press /)."),
        h("section.card.flush", {}, table("Datasets", ["Dataset", "Platform"], answer.entities.map((/** @type {any} */ entity) => [entityLink(entity), entity.platform])))]
      : h("section.card", {}, empty("No datasets yet", "Events that name inputs or outputs add them: ", h("code", {}, "dh-bridge emit EVENTS --to catalog:FILE"), ".")));
}
