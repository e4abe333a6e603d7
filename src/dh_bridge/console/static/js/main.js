// The shell of the page: the views, their addresses (#/VIEW?NAME=VALUE), and what is shown while a view loads.

import { ApiError, setToken, takeToken } from "./api.js";
import { address, empty, problem } from "./components.js";
import { h, put } from "./dom.js";
import { setUpSearch } from "./search.js";
import { setUpTheme } from "./theme.js";
import { showCheck, showChecks } from "./views/checks.js";
import { showEntity } from "./views/entity.js";
import { showEvents } from "./views/events.js";
import { showInspector } from "./views/inspector.js";
import { showLineage } from "./views/lineage.js";
import { showOverview } from "./views/overview.js";
import { showProblems } from "./views/problems.js";
import { showRun } from "./views/run.js";
import { showRuns } from "./views/runs.js";
import { showSearch } from "./views/search_results.js";

/**
 * @typedef {{main: HTMLElement, query: URLSearchParams, isCurrent: () => boolean, set: (values: Record<string, any>) => void}} ViewContext
 *   `set` changes parameters of the address, and so shows the view again.
 * @typedef {{title: string, tab?: string, show: (context: ViewContext) => Promise<void>}} View
 */

/** @type {Record<string, View>} */
const VIEWS = {
  overview: { title: "Overview", tab: "overview", show: showOverview },
  lineage: { title: "Lineage", tab: "lineage", show: showLineage },
  runs: { title: "Runs", tab: "runs", show: showRuns },
  run: { title: "Run", tab: "runs", show: showRun },
  checks: { title: "Checks", tab: "checks", show: showChecks },
  check: { title: "Check", tab: "checks", show: showCheck },
  inspector: { title: "Event inspector", tab: "inspector", show: showInspector },
  events: { title: "Events", tab: "inspector", show: showEvents },
  problems: { title: "Problems", tab: "problems", show: showProblems },
  search: { title: "Search", show: showSearch },
  entity: { title: "Entity", show: showEntity },
};
const TABS = ["overview", "inspector", "lineage", "runs", "checks", "problems"];
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
let turn = 0;

async function show() {
  const [path, text = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const name = path in VIEWS ? path : "overview";
  const view = VIEWS[name];
  const query = new URLSearchParams(text);
  const current = ++turn;
  const isCurrent = () => current === turn;
  document.title = `${view.title} · dh_bridge console`;
  put(/** @type {HTMLElement} */ (document.getElementById("tabs")), TABS.map((tab) =>
    h("a", { href: address(tab), "aria-current": tab === view.tab ? "page" : null }, VIEWS[tab].title.replace("Event i", "I"))));
  const box = h("div.loading", { role: "status" }, "Loading …");
  const before = main.firstChild;
  const timer = setTimeout(() => isCurrent() && main.firstChild === before && put(main, box), 150);
  try {
    await view.show({ main, query, isCurrent, set: (values) => setParameters(name, query, values) });
  } catch (error) {
    if (isCurrent()) showError(/** @type {Error} */ (error));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} view @param {URLSearchParams} query @param {Record<string, any>} values */
function setParameters(view, query, values) {
  const next = address(view, { ...Object.fromEntries(query), ...values });
  if (next === location.hash) show();
  else location.hash = next.slice(1);
}

/** @param {Error} error */
function showError(error) {
  main.className = "";
  if (!(error instanceof ApiError) || error.status !== 401) {
    if (!(error instanceof ApiError)) console.error(error);
    put(main, problem(error));
    return;
  }
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "password", id: "token", autocomplete: "off" }));
  put(main, h("form.card", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); setToken(input.value.trim()); show(); } },
    empty("This page needs its token", "Open the address that the command printed. It ends in #token=… . Or paste the token here."),
    h("div.actions", {}, h("label", { for: "token" }, "Token"), input, h("button.main", { type: "submit" }, "Open"))));
}

await takeToken();
setUpTheme(/** @type {HTMLElement} */ (document.getElementById("theme")), show);
setUpSearch(/** @type {HTMLElement} */ (document.getElementById("search")));
window.addEventListener("hashchange", async () => {
  if (location.hash.startsWith("#token=")) await takeToken();
  await show();
  if (!main.contains(document.activeElement) && document.activeElement === document.body) main.focus({ preventScroll: true });
});
await show();
