// The hosts that the server knows.
import { api } from "./api.js";
import { signal } from "./signals.js";
import { can } from "./who.js";

const each = 15_000; // interval between two loads, in ms

export const hosts = signal([]);

// loadHosts loads the list of hosts.
export async function loadHosts() {
  if (can("hosts")) hosts.value = await api.get("/hosts");
  return hosts.peek();
}

let watchers = 0;
let timer = 0;

// watchHosts loads the hosts at regular intervals until the returned function is called.
export function watchHosts() {
  if (watchers++ === 0) {
    const reload = () => { if (document.visibilityState === "visible") loadHosts().catch(() => {}); };
    reload();
    timer = setInterval(reload, each);
  }
  let watching = true;
  return () => {
    if (watching && --watchers === 0) clearInterval(timer);
    watching = false;
  };
}

export function forgetHosts() { hosts.value = []; }
