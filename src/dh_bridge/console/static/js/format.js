// Numbers, times and sizes as people read them. Times are UTC, as in events.

/** @param {number} value */
export const count = (value) => value.toLocaleString("en-US");

/** @param {number|null|undefined} millis @returns {string} */
export function time(millis) {
  return millis === null || millis === undefined ? "–" : new Date(millis).toISOString().slice(0, 19).replace("T", " ");
}

/** @param {number|null|undefined} millis @returns {string} */
export function duration(millis) {
  if (millis === null || millis === undefined) return "–";
  if (millis < 1000) return `${millis} ms`;
  if (millis < 60_000) return `${(millis / 1000).toFixed(1)} s`;
  const minutes = Math.floor(millis / 60_000);
  return minutes < 60 ? `${minutes} min ${Math.round((millis % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number} millis the time @param {number} [now] @returns {string} such as "3 h ago" */
export function age(millis, now = Date.now()) {
  const seconds = Math.max(0, (now - millis) / 1000);
  const steps = /** @type {[number, string][]} */ ([[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]]);
  const [size, unit] = steps.find(([step]) => seconds >= step) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

/** @param {number} number @returns {string} */
export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = number ? Math.min(units.length - 1, Math.floor(Math.log2(number) / 10)) : 0;
  return `${(number / 2 ** (10 * power)).toFixed(power ? 1 : 0)} ${units[power]}`;
}

/** @param {number} number @param {string} noun @returns {string} such as "1 run", "2 runs" */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;

/** @param {string} text @param {number} limit @returns {string} the end of a long name, which tells more than its beginning */
export const shorten = (text, limit) => (text.length > limit ? `…${text.slice(text.length - limit + 1)}` : text);

/** @param {string} text @param {number} limit @returns {string} the begin of a long text */
export const cut = (text, limit) => (text.length > limit ? `${text.slice(0, limit)}…` : text);
