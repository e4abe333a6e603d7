// The search in the bar: suggestions while typing, a list of all matches on Enter.

import { get } from "./api.js";
import { address, entityAddress, kindName } from "./components.js";
import { announce, h, put } from "./dom.js";

const DELAY_MILLIS = 120;
const SUGGESTIONS = 8;

/** @param {HTMLElement} box */
export function setUpSearch(box) {
  const list = h("ul.suggestions", { id: "suggestions", role: "listbox", "aria-label": "Suggestions", hidden: true });
  const input = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "search", placeholder: "Search datasets, jobs, columns …", "aria-label": "Search", role: "combobox", autocomplete: "off",
      "aria-expanded": "false", "aria-controls": "suggestions", "aria-autocomplete": "list", spellcheck: "false",
    })
  );
  let timer = 0;
  let selected = -1;
  /** @type {any[]} */
  let entities = [];

  const close = () => {
    list.hidden = true;
    selected = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  /** @param {string} target */
  const go = (target) => {
    close();
    input.value = "";
    location.hash = target.slice(1);
  };
  /** @param {number} index */
  const select = (index) => {
    selected = index;
    [...list.children].forEach((item, position) => item.setAttribute("aria-selected", String(position === index)));
    input.setAttribute("aria-activedescendant", `suggestion-${index}`);
  };
  const suggest = async () => {
    const text = input.value.trim();
    if (!text) return close();
    const answer = await get("search", { q: text, in: "urn", limit: SUGGESTIONS }).catch(() => ({ entities: [], total: 0 }));
    if (input.value.trim() !== text) return;
    entities = answer.entities;
    put(list, entities.map((entity, index) =>
      h("li", { id: `suggestion-${index}`, role: "option", "aria-selected": "false", title: entity.urn, onmousedown: (/** @type {Event} */ event) => { event.preventDefault(); go(entityAddress(entity)); } },
        h("span.name", {}, entity.name), h("span.tag", {}, `${kindName(entity.type)}${entity.platform ? ` · ${entity.platform}` : ""}`))));
    selected = -1;
    list.hidden = !entities.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    announce(entities.length ? `${entities.length} suggestions` : "no suggestions");
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(suggest, DELAY_MILLIS);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter") go(selected >= 0 ? entityAddress(entities[selected]) : address("search", { q: input.value.trim() }));
    else if (event.key === "ArrowDown" && !list.hidden) select((selected + 1) % entities.length);
    else if (event.key === "ArrowUp" && !list.hidden) select((selected - 1 + entities.length) % entities.length);
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")) {
      event.preventDefault();
      input.focus();
    }
  });
  put(box, input, list);
}
