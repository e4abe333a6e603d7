// Positions of nodes and edges, by dagre.

import { Graph, layout } from "../../vendor/dagre.js";

/**
 * @typedef {{urn: string, type: string, name: string, platform: string, distance: number, is_removed: boolean, column_count: number,
 *   hidden_upstream: number, hidden_downstream: number}} GraphItem
 * @typedef {{upstream_dataset: string, upstream_column: string, downstream_dataset: string, downstream_column: string,
 *   operation: string, stated_by: string}} ColumnEdge
 * @typedef {{item: GraphItem, x: number, y: number, width: number, height: number, columns: string[]}} PlacedNode the corner at the top left
 * @typedef {{from: PlacedNode, to: PlacedNode, points: {x: number, y: number}[]}} PlacedEdge
 * @typedef {{nodes: PlacedNode[], edges: PlacedEdge[], width: number, height: number}} Placed
 */

export const NODE_WIDTH = 232;
export const HEAD_HEIGHT = 44;
export const COLUMN_HEIGHT = 18;
const MANY_NODES = 150;
const MARGIN = 24;

/**
 * Place a graph from left to right.
 * @param {{nodes: GraphItem[], edges: [number, number][]}} view
 * @param {Map<string, string[]>} columnsByUrn columns that datasets show
 * @returns {Placed}
 */
export function place(view, columnsByUrn) {
  const graph = new Graph();
  // the default ranker takes twice as long for large graphs
  graph.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 72, edgesep: 10, marginx: MARGIN, marginy: MARGIN, ranker: view.nodes.length > MANY_NODES ? "tight-tree" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  const nodes = view.nodes.map((item, index) => {
    const columns = columnsByUrn.get(item.urn) ?? [];
    const height = HEAD_HEIGHT + (columns.length ? columns.length * COLUMN_HEIGHT + 6 : 0);
    graph.setNode(String(index), { width: NODE_WIDTH, height });
    return { item, x: 0, y: 0, width: NODE_WIDTH, height, columns };
  });
  for (const [upstream, downstream] of view.edges) if (upstream !== downstream) graph.setEdge(String(upstream), String(downstream));
  layout(graph);
  nodes.forEach((node, index) => {
    const { x, y } = graph.node(String(index));
    node.x = x - node.width / 2;
    node.y = y - node.height / 2;
  });
  const edges = graph.edges().map((/** @type {{v: string, w: string}} */ edge) => ({ from: nodes[Number(edge.v)], to: nodes[Number(edge.w)], points: graph.edge(edge).points }));
  const size = graph.graph();
  return { nodes, edges, width: size.width ?? 0, height: size.height ?? 0 };
}

/**
 * Return a smooth path through points, from the right side of a node to the left side of another.
 * @param {{x: number, y: number}[]} points
 */
export function smooth(points) {
  const [first, ...rest] = points;
  let path = `M${round(first.x)},${round(first.y)}`;
  let last = first;
  for (const point of rest) {
    const middle = (last.x + point.x) / 2;
    path += `C${round(middle)},${round(last.y)} ${round(middle)},${round(point.y)} ${round(point.x)},${round(point.y)}`;
    last = point;
  }
  return path;
}

/** @param {number} number */
const round = (number) => Math.round(number * 10) / 10;
