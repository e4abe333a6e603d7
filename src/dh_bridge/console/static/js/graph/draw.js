// The graph as SVG: each node can be focused and read aloud, and takes its colours from the theme.

import { kindName } from "../components.js";
import { s, visible } from "../dom.js";
import { plural } from "../format.js";
import { shortenTo } from "../text_width.js";
import { COLUMN_HEIGHT, HEAD_HEIGHT, NODE_WIDTH, place, smooth } from "./layout.js";

const TEXT_WIDTH = NODE_WIDTH - 24;

/**
 * @typedef {{root: string, selected: string|null, columnsByUrn: Map<string, string[]>, columnEdges: import("./layout.js").ColumnEdge[],
 *   onSelect: (urn: string) => void, onCentre: (urn: string) => void}} DrawOptions
 */

/**
 * Draw a graph.
 * @param {{nodes: import("./layout.js").GraphItem[], edges: [number, number][]}} view
 * @param {DrawOptions} options
 * @returns {{content: SVGElement, placed: import("./layout.js").Placed}}
 */
export function draw(view, options) {
  const placed = place(view, options.columnsByUrn);
  const byUrn = new Map(placed.nodes.map((node) => [node.item.urn, node]));
  const content = s("g", { class: options.columnEdges.length ? "with-columns" : null },
    s("g", { "aria-hidden": "true" },
      placed.edges.map((edge) => edgePath(edge, options.selected)),
      options.columnEdges.map((edge) => columnPath(edge, byUrn))),
    placed.nodes.map((node) => nodeGroup(node, options)));
  content.addEventListener("keydown", (event) => moveFocus(/** @type {KeyboardEvent} */ (event), placed, byUrn));
  return { content, placed };
}

/** @param {import("./layout.js").PlacedEdge} edge @param {string|null} selected */
function edgePath({ from, to, points }, selected) {
  const begin = { x: from.x + from.width, y: from.y + HEAD_HEIGHT / 2 };
  const end = { x: to.x - 6, y: to.y + HEAD_HEIGHT / 2 };
  const isNear = selected !== null && (from.item.urn === selected || to.item.urn === selected);
  return [
    s(isNear ? "path.edge.near" : "path.edge", { d: smooth([begin, ...(points.length > 3 ? points.slice(1, -1) : []), end]) }),
    s("path.edge-head", { d: `M${end.x + 6},${end.y}l-7,-3.5v7z` }),
  ];
}

/** @param {import("./layout.js").ColumnEdge} edge @param {Map<string, import("./layout.js").PlacedNode>} byUrn */
function columnPath(edge, byUrn) {
  const from = byUrn.get(edge.upstream_dataset);
  const to = byUrn.get(edge.downstream_dataset);
  if (!from || !to) return null;
  const begin = { x: from.x + from.width, y: columnY(from, edge.upstream_column) };
  const end = { x: to.x, y: columnY(to, edge.downstream_column) };
  return s("path.edge.column-edge", { d: smooth([begin, end]) });
}

/** @param {import("./layout.js").PlacedNode} node @param {string} column */
function columnY(node, column) {
  const index = node.columns.indexOf(column);
  return node.y + (index < 0 ? HEAD_HEIGHT / 2 : HEAD_HEIGHT + (index + 0.5) * COLUMN_HEIGHT);
}

/** @param {import("./layout.js").PlacedNode} node @param {DrawOptions} options */
function nodeGroup(node, options) {
  const { item } = node;
  const subtitle = [kindName(item.type), item.platform, item.column_count ? plural(item.column_count, "column") : ""].filter(Boolean).join(" · ");
  const classes = ["node", item.type === "dataJob" ? "job" : "", item.urn === options.root ? "root" : "", item.urn === options.selected ? "selected" : "", item.is_removed ? "removed" : ""];
  const select = () => options.onSelect(item.urn);
  return s("g", {
    class: classes.filter(Boolean).join(" "), transform: `translate(${node.x},${node.y})`, tabindex: 0, role: "button", "data-urn": item.urn,
    "aria-pressed": String(item.urn === options.selected), "aria-label": `${item.name}, ${subtitle}${item.is_removed ? ", removed" : ""}`,
    onclick: select, ondblclick: () => options.onCentre(item.urn),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      select();
    },
  },
  s("title", {}, item.urn),
  s("rect.box", { width: node.width, height: node.height, rx: item.type === "dataJob" ? 14 : 6 }),
  s("text.title", { x: 12, y: 19 }, shortenTo(visible(item.name), "600 12.5px", "--font", TEXT_WIDTH)),
  s("text.subtitle", { x: 12, y: 35 }, shortenTo(visible(subtitle), "400 11px", "--font", TEXT_WIDTH)),
  node.columns.map((column, index) => [
    s("rect.column-row", { x: 6, y: HEAD_HEIGHT + index * COLUMN_HEIGHT + 1, width: node.width - 12, height: COLUMN_HEIGHT - 2, rx: 3 }),
    s("text.column", { x: 12, y: HEAD_HEIGHT + index * COLUMN_HEIGHT + 13 }, shortenTo(visible(column), "400 11px", "--mono", TEXT_WIDTH)),
  ]),
  item.hidden_upstream > 0 && moreMark(`+${item.hidden_upstream}`, -8, `${plural(item.hidden_upstream, "more neighbour")} upstream`, () => options.onCentre(item.urn)),
  item.hidden_downstream > 0 && moreMark(`+${item.hidden_downstream}`, node.width - 26, `${plural(item.hidden_downstream, "more neighbour")} downstream`, () => options.onCentre(item.urn)));
}

/** @param {string} text @param {number} x @param {string} title @param {() => void} onClick */
function moreMark(text, x, title, onClick) {
  return s("g.more", { transform: `translate(${x},-8)`, onclick: (/** @type {Event} */ event) => { event.stopPropagation(); onClick(); } },
    s("title", {}, title), s("rect.box", { width: 34, height: 16, rx: 8 }), s("text", { x: 17, y: 12, "text-anchor": "middle" }, text));
}

/** Move the focus to a neighbour with the arrow keys. @param {KeyboardEvent} event @param {import("./layout.js").Placed} placed @param {Map<string, import("./layout.js").PlacedNode>} byUrn */
function moveFocus(event, placed, byUrn) {
  const group = /** @type {Element} */ (event.target).closest("[data-urn]");
  const node = group && byUrn.get(group.getAttribute("data-urn") ?? "");
  if (!node || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
  const sign = event.key === "ArrowLeft" || event.key === "ArrowUp" ? -1 : 1;
  const candidates = isSideways
    ? placed.edges.filter((edge) => (sign < 0 ? edge.to : edge.from) === node).map((edge) => (sign < 0 ? edge.from : edge.to))
    : placed.nodes.filter((other) => Math.abs(other.x - node.x) < other.width / 2 && (other.y - node.y) * sign > 0);
  candidates.sort((one, other) => Math.abs(one.y - node.y) - Math.abs(other.y - node.y));
  if (candidates.length) /** @type {SVGElement|null} */ (event.currentTarget instanceof Element ? event.currentTarget.querySelector(`[data-urn="${CSS.escape(candidates[0].item.urn)}"]`) : null)?.focus();
}
