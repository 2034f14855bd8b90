// The address of a screen. #/runs/ID/files?path=a is {screen: "runs", id: "ID", tab: "files",
// query}. Addresses are links, so that back, reload and sharing work.
import { signal } from "parts/base.js";

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // the user typed an address with an invalid escape
  }
}

// parse parses a fragment.
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [screen = "", id = "", tab = ""] = path.split("/").map(decode);
  return { screen: screen || "inbox", id, tab, query: new URLSearchParams(query) };
}

// joinLink is the link of an enrolment (#/join/…) with which this page was opened, or "".
export const joinLink = signal("");

// arrive returns the place of the address. It removes the secret of an enrolment from the address
// and the history at once; only joinLink has it then.
function arrive() {
  if (/^#\/join\/./.test(location.hash)) {
    joinLink.value = location.href;
    history.replaceState(null, "", "#/join");
  }
  return parse(location.hash);
}

export const place = signal(arrive());

// hrefOf returns the address of a screen.
export function hrefOf(screen, id, tab, query) {
  const parts = [screen, id, tab].filter((p) => p).map(encodeURIComponent);
  const text = new URLSearchParams(query ?? {}).toString();
  return "#/" + parts.join("/") + (text ? "?" + text : "");
}

// go opens an address. If replace is set, it replaces the current entry of the history.
export function go(href, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", href);
  else if (location.hash !== href) history.pushState(null, "", href);
  place.value = parse(href);
}

addEventListener("hashchange", () => (place.value = arrive()));
addEventListener("popstate", () => (place.value = arrive()));
