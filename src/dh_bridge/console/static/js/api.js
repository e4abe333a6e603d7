// Requests to the read API. The token comes in the fragment of the address, or from another tab, and stays in this tab.

const KEY = "dh_bridge.token";
const channel = "BroadcastChannel" in window ? new BroadcastChannel(KEY) : null;

/** An answer with an error. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Take the token out of the address, or ask the other tabs for theirs. @returns {Promise<void>} */
export async function takeToken() {
  const match = /^#token=([^&]+)/.exec(location.hash);
  if (match) {
    setToken(decodeURIComponent(match[1]));
    history.replaceState(null, "", "#/");
  }
  channel?.addEventListener("message", (event) => {
    if (event.data === "ask" && getToken()) channel.postMessage({ token: getToken() });
  });
  if (getToken() || !channel) return;
  await new Promise((resolve) => {
    channel.addEventListener("message", (event) => {
      if (event.data?.token && !getToken()) setToken(event.data.token);
      resolve(null);
    });
    channel.postMessage("ask");
    setTimeout(resolve, 150);
  });
}

/** @returns {string} */
export function getToken() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** @param {string} token */
export function setToken(token) {
  sessionStorage.setItem(KEY, token);
}

/**
 * Return an answer of the read API.
 * @param {string} path
 * @param {Record<string, string|number|null|undefined>} [query] empty values are left out
 * @returns {Promise<any>}
 */
export function get(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  const text = parameters.toString();
  return request(`api/${path}${text ? `?${text}` : ""}`, {});
}

/**
 * Send a request that may change something.
 * @param {string} path
 * @param {string} body
 * @returns {Promise<any>}
 */
export function post(path, body) {
  return request(`api/${path}`, { method: "POST", body });
}

/** @param {string} address @param {RequestInit} options */
async function request(address, options) {
  let response;
  try {
    response = await fetch(address, { ...options, headers: { Authorization: `Bearer ${getToken()}` } });
  } catch {
    throw new ApiError(0, "The console does not answer. Start it again with dh-bridge console, and open the address that it prints.");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, answer.error ?? `HTTP ${response.status}`);
  return answer;
}
