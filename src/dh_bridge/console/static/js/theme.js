// Light and dark: as the system, or as chosen on the page; theme_start.js has set an earlier choice.

import { put } from "./dom.js";

const KEY = "dh_bridge.theme";

/** @returns {"light"|"dark"} */
export function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** @param {HTMLElement} button @param {() => void} onChange */
export function setUpTheme(button, onChange) {
  const show = () => put(button, currentTheme() === "dark" ? "Light theme" : "Dark theme");
  button.addEventListener("click", () => {
    const theme = currentTheme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem(KEY, theme); } catch { /* a page of a file may have no storage */ }
    show();
    onChange();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { show(); onChange(); });
  show();
}

/** Return the value of a colour of the design system in the present theme, for a canvas. @param {string} name such as "--ink" */
export function color(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
