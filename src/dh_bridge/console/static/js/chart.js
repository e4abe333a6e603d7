// Time series with uPlot, in the colours of the theme. A table beside each chart has the same numbers for screen readers.

import { h } from "./dom.js";
import { color } from "./theme.js";

export const SERIES_COLORS = 6;
const DAY_SECONDS = 86_400;
const HEIGHT = 200;

/**
 * Return a chart of counts by day, a line for each series.
 * @param {string} title
 * @param {number[]} days seconds since 1970
 * @param {{name: string, values: number[]}[]} series
 * @returns {HTMLElement}
 */
export function dayChart(title, days, series) {
  const box = h("div.chart", { role: "img", "aria-label": `${title}: ${series.map((line) => line.name).join(", ")}` });
  loadPlot().then((uPlot) => {
    const axis = { stroke: color("--ink-soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const options = {
      width: Math.max(200, box.clientWidth), height: HEIGHT, tzDate: (/** @type {number} */ seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { x: { range: dayRange }, y: { range: (/** @type {any} */ _, /** @type {number} */ _low, /** @type {number} */ high) => [0, Math.max(4, high * 1.1)] } },
      legend: { show: false }, cursor: { y: false },
      axes: [{ ...axis, grid: { show: false }, space: 70, size: 30, values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map(dayText), incrs: [1, 2, 5, 7, 14, 30, 60, 120].map((number) => number * DAY_SECONDS) }, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7] }],
      series: [{}, ...series.map((line, index) => ({
        label: line.name, stroke: color(`--series-${(index % SERIES_COLORS) + 1}`), width: 2, points: { show: days.length < 32, size: 6, fill: color("--surface") },
      }))],
    };
    const plot = new uPlot(options, [days, ...series.map((line) => line.values)], box);
    new ResizeObserver(() => plot.setSize({ width: Math.max(200, box.clientWidth), height: HEIGHT })).observe(box);
  });
  return box;
}

/** @param {any} _plot @param {number} low @param {number} high */
function dayRange(_plot, low, high) {
  return low === high ? [low - DAY_SECONDS, high + DAY_SECONDS] : [low - DAY_SECONDS / 4, high + DAY_SECONDS / 4];
}

/** @param {number} seconds */
const dayText = (seconds) => new Date(seconds * 1000).toISOString().slice(5, 10);

/** @returns {Promise<any>} */
async function loadPlot() {
  if (!document.querySelector("link[data-plot]")) document.head.append(h("link", { rel: "stylesheet", href: "vendor/uplot.css", "data-plot": true }));
  return (await import("../vendor/uplot.js")).default;
}
