// Where one is: #/runs/ID/files?path=a is {screen: "runs", id: "ID", tab: "files", query}. Addresses are links, so that
// going back, reloading and sending one on work by themselves.
import { signal } from "parts/base.js";

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody wrote it by hand
  }
}

// parse reads a fragment.
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [screen = "", id = "", tab = ""] = path.split("/").map(decode);
  return { screen: screen || "inbox", id, tab, query: new URLSearchParams(query) };
}

export const place = signal(parse(location.hash));

// hrefOf is the address of a place.
export function hrefOf(screen, id, tab, query) {
  const parts = [screen, id, tab].filter((p) => p).map(encodeURIComponent);
  const text = new URLSearchParams(query ?? {}).toString();
  return "#/" + parts.join("/") + (text ? "?" + text : "");
}

// go goes there; instead of what is there when replace is said.
export function go(href, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", href);
  else if (location.hash !== href) history.pushState(null, "", href);
  place.value = parse(href);
}

addEventListener("hashchange", () => (place.value = parse(location.hash)));
addEventListener("popstate", () => (place.value = parse(location.hash)));
