// The graph with its panel: shared by the view of the console and by the page of `lineage --html`.

import { breakable, kindName } from "../components.js";
import { announce, h, put, s } from "../dom.js";
import { plural } from "../format.js";
import { draw } from "./draw.js";
import { makeMovable } from "./pan_zoom.js";

/**
 * @typedef {import("./layout.js").ColumnEdge} ColumnEdge
 * @typedef {{path: string, type: string, description: string, upstream: any[], downstream: any[]}} Column
 * @typedef {{columns: (urn: string) => Promise<Column[]>, columnPath: (urn: string, column: string) => Promise<ColumnEdge[]>,
 *   links: (item: import("./layout.js").GraphItem) => import("../dom.js").Child, centre: (urn: string) => void, cutHint: string}} BoardData
 */

/**
 * Show a graph in a box.
 * @param {HTMLElement} box
 * @param {{nodes: import("./layout.js").GraphItem[], edges: [number, number][], hidden: number}} view
 * @param {BoardData} data
 */
export function showBoard(box, view, data) {
  const root = view.nodes[0].urn;
  /** @type {string|null} */
  let selected = null;
  /** @type {{urn: string, column: string}|null} */
  let chosenColumn = null;
  /** @type {ColumnEdge[]} */
  let columnEdges = [];
  const svg = s("svg", { role: "group", "aria-label": `Lineage graph: ${plural(view.nodes.length, "node")}` });
  const panel = h("aside.panel", { "aria-label": "Details", hidden: true });
  const zoom = h("div.zoom");
  const canvas = h("div.canvas", {}, svg, view.hidden > 0 && h("p.cut", {}, `${plural(view.hidden, "more neighbour")} not shown${data.cutHint}`), zoom);
  /** @type {ReturnType<typeof draw>} */
  let drawing;
  /** @type {ReturnType<typeof makeMovable>|null} */
  let movable = null;

  const redraw = () => {
    drawing = draw(view, { root, selected, columnEdges, columnsByUrn: shownColumns(columnEdges, chosenColumn), onSelect: select, onCentre: data.centre });
    svg.replaceChildren(drawing.content);
    if (movable) movable.replace(drawing.content, drawing.placed);
    else movable = makeMovable(svg, drawing.content, drawing.placed);
  };
  /** @param {string} urn */
  const focusOn = (urn) => {
    const node = drawing.placed.nodes.find((other) => other.item.urn === urn);
    if (node) movable?.focusOn({ x: node.x + node.width / 2, y: node.y + node.height / 2 });
  };
  /** @param {string} urn */
  const select = async (urn) => {
    selected = urn;
    if (chosenColumn && chosenColumn.urn !== urn) { chosenColumn = null; columnEdges = []; }
    redraw();
    focusNode(svg, urn);
    await showPanel(urn);
  };
  /** @param {string} urn @param {string} column */
  const chooseColumn = async (urn, column) => {
    const isSame = chosenColumn?.urn === urn && chosenColumn.column === column;
    chosenColumn = isSame ? null : { urn, column };
    columnEdges = isSame ? [] : await data.columnPath(urn, column);
    redraw();
    focusOn(urn);
    announce(isSame ? "column lineage hidden" : `${plural(columnEdges.length, "column edge")}`);
    await showPanel(urn);
  };
  /** @param {string} urn */
  const showPanel = async (urn) => {
    const item = view.nodes.find((node) => node.urn === urn);
    if (!item) return;
    const columns = item.column_count || item.type === "dataset" ? await data.columns(urn) : [];
    if (selected !== urn) return;
    box.classList.add("with-panel");
    panel.hidden = false;
    put(panel,
      h("div.panel-head", {}, h("h2.name", {}, breakable(item.name)), h("button.quiet", { type: "button", onclick: close, "aria-label": "Close the details" }, "✕")),
      h("p.soft", {}, [kindName(item.type), item.platform, item.is_removed ? "removed" : ""].filter(Boolean).join(" · ")),
      h("p.mono.small.soft.name", {}, item.urn),
      h("div.actions", {}, data.links(item)),
      columns.length > 0 && h("h3", {}, `Columns (${columns.length})`),
      columns.length > 0 && h("ul.column-list", {}, columns.map((column) => columnItem(column, chosenColumn?.urn === urn && chosenColumn.column === column.path, () => chooseColumn(urn, column.path)))));
  };
  const close = () => {
    selected = null;
    chosenColumn = null;
    columnEdges = [];
    box.classList.remove("with-panel");
    panel.hidden = true;
    redraw();
  };

  put(box, canvas, panel);
  redraw();
  put(zoom, zoomButton("−", "Zoom out", () => movable?.zoomOut()), zoomButton("+", "Zoom in", () => movable?.zoomIn()), zoomButton("Fit", "Show the whole graph", () => movable?.fit()));
  focusOn(root);
  return { content: () => drawing.content, size: () => drawing.placed, select };
}

/** @param {string} text @param {string} label @param {() => void} onClick */
const zoomButton = (text, label, onClick) => h("button", { type: "button", "aria-label": label, title: label, onclick: onClick }, text);

/** @param {SVGElement} svg @param {string} urn */
function focusNode(svg, urn) {
  /** @type {SVGElement|null} */ (svg.querySelector(`[data-urn="${CSS.escape(urn)}"]`))?.focus({ preventScroll: true });
}

/**
 * Return the columns that each dataset shows: those of the chosen path.
 * @param {ColumnEdge[]} edges @param {{urn: string, column: string}|null} chosen @returns {Map<string, string[]>}
 */
function shownColumns(edges, chosen) {
  /** @type {Map<string, string[]>} */
  const columns = new Map(chosen ? [[chosen.urn, [chosen.column]]] : []);
  for (const edge of edges) {
    for (const [urn, column] of [[edge.upstream_dataset, edge.upstream_column], [edge.downstream_dataset, edge.downstream_column]]) {
      const list = columns.get(urn) ?? [];
      if (column && !list.includes(column)) list.push(column);
      columns.set(urn, list);
    }
  }
  return columns;
}

/** @param {Column} column @param {boolean} isChosen @param {() => void} onClick */
function columnItem(column, isChosen, onClick) {
  return h("li", {},
    h("button", { type: "button", "aria-pressed": String(isChosen), title: column.description, onclick: onClick }, h("span.mono.name", {}, column.path), h("span.tag", {}, column.type)),
    isChosen && h("div.column-links", {},
      column.description && h("span", {}, column.description),
      column.upstream.map((link) => columnLink("from", link)), column.downstream.map((link) => columnLink("to", link)),
      !column.upstream.length && !column.downstream.length && h("span", {}, "No event states lineage of this column.")));
}

/** @param {string} word @param {any} link */
function columnLink(word, link) {
  return h("span.name", {}, `${word} `, h("span.mono", {}, `${link.dataset.name}.${link.column}`), link.operation && link.operation !== "NONE" ? h("span.badge.own", {}, link.operation) : "");
}
