// Names that nearly match: datasets that are probably one, in the file, or in the file and DataHub. Nothing is compared unasked.

import { get, post } from "../api.js";
import { address, breakable, empty, problem, table } from "../components.js";
import { h, put } from "../dom.js";
import { count, plural } from "../format.js";

/** @param {string|null} server the address of DataHub */
export function nearMissCard(server) {
  const result = h("div", { "aria-live": "polite" });
  /** @param {string} text @param {string} waiting @param {() => Promise<any>} load @param {(answer: any) => import("../dom.js").Child} draw */
  const button = (text, waiting, load, draw) => h("button", { type: "button", onclick: async (/** @type {any} */ event) => {
    event.currentTarget.disabled = true;
    put(result, h("p.loading", { role: "status" }, waiting));
    try {
      put(result, draw(await load()));
    } catch (error) {
      put(result, h("div.card-foot", {}, problem(/** @type {Error} */ (error))));
    } finally {
      event.target.disabled = false;
    }
  } }, text);
  return h("section.card.flush", {}, h("div.card-head", {}, h("h2", {}, "Names that nearly match"),
    h("p.soft", {}, "One table under two names becomes two datasets, and its lineage breaks. Find names that differ only in case, quotes, environment, platform, host or a missing level."),
    h("div.actions", {},
      button("Compare the names in this file", "Comparing the names …", () => get("near-misses"), withinFile),
      server !== null && button("Compare with DataHub", `Asking ${server} …`, () => post("compare-with-server", ""), (answer) => withServer(answer, server))),
    h("p.soft.small", {}, server !== null ? `DataHub at ${server} is asked only if you press the button, and only read.` : "With rest.server or DATAHUB_GMS_URL, the names can be compared with those of DataHub, too.")), result);
}

/** @param {any} answer */
function withinFile(answer) {
  return [foot(`${plural(answer.datasets, "dataset")} compared.`, answer), misses(answer, "No names nearly match", "Each name differs clearly from all others.")];
}

/** @param {any} answer @param {string} server */
function withServer(answer, server) {
  const number = answer.compared < answer.datasets ? `The newest ${count(answer.compared)} of ${plural(answer.datasets, "dataset")}` : plural(answer.compared, "dataset");
  return [foot(`${number} compared with ${server}: DataHub lacks ${count(answer.missing)}.`, answer),
    misses(answer, "No names nearly match", "DataHub has no dataset with nearly the name of one that it lacks.")];
}

/** @param {string} text @param {any} answer */
const foot = (text, answer) => h("p.soft.small.card-foot", {}, `${text}${answer.more ? ` ${count(answer.more)} more are not shown.` : ""}`);

/** @param {any} answer @param {string} title @param {string} hint */
function misses(answer, title, hint) {
  if (!answer.misses.length) return empty(title, hint);
  return table("Names that nearly match", ["Dataset", "Nearly the same as", "Differs in"], answer.misses.map((/** @type {any} */ miss) => [link(miss.urn), link(miss.other), h("span.badge.warn", {}, miss.differs)]));
}

/** Return a link to a dataset, with its platform and environment. @param {string} urn */
function link(urn) {
  const [platform, ...rest] = urn.replace("urn:li:dataset:(urn:li:dataPlatform:", "").replace(/\)$/, "").split(",");
  const environment = rest.pop() ?? "";
  return h("span.name", {}, h("a", { href: address("lineage", { urn }), title: urn }, breakable(rest.join(","))), " ", h("span.tag.nowrap", {}, `${platform} · ${environment}`));
}
