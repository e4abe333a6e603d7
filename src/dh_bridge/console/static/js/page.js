// The page of `dh-bridge lineage --html`: the graph of the console in one file, with its data inside.

import { h, put } from "./dom.js";
import { count } from "./format.js";
import { showBoard } from "./graph/board.js";
import { exportButtons } from "./graph/export_buttons.js";
import { setUpTheme } from "./theme.js";

const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** Return the edges around a column, nearest first. @param {string} urn @param {string} column */
function columnPath(urn, column) {
  /** @type {Set<any>} */
  const edges = new Set();
  for (const [from, to] of [["downstream", "upstream"], ["upstream", "downstream"]]) {
    const queue = [[urn, column]];
    const seen = new Set([JSON.stringify(queue[0])]);
    for (let current = queue.shift(); current; current = queue.shift()) {
      for (const edge of data.column_edges) {
        if (edge[`${from}_dataset`] !== current[0] || edge[`${from}_column`] !== current[1]) continue;
        edges.add(edge);
        const next = [edge[`${to}_dataset`], edge[`${to}_column`]];
        if (!seen.has(JSON.stringify(next))) queue.push(next);
        seen.add(JSON.stringify(next));
      }
    }
  }
  return [...edges];
}

function show() {
  const root = data.view.nodes[0];
  const box = h("div.lineage");
  put(main,
    h("div.head", {}, h("h1", {}, root.name), h("span.soft", {}, `${count(data.view.nodes.length)} nodes, written ${data.written} UTC`),
      h("div.actions", {}, exportButtons(() => board, data.view, root.name))),
    box);
  const board = showBoard(box, data.view, {
    columns: async (urn) => data.columns[urn] ?? [],
    columnPath: async (urn, column) => columnPath(urn, column),
    cutHint: "",
    links: () => null,
    centre: (urn) => { board.select(urn); },
  });
}

setUpTheme(/** @type {HTMLElement} */ (document.getElementById("theme")), show);
show();
