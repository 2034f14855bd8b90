// The machines that the server knows.
import { api } from "./api.js";
import { signal } from "./signals.js";
import { can } from "./who.js";

const each = 15_000; // interval between two loads, in ms

export const machines = signal([]);

// loadMachines loads the list of machines.
export async function loadMachines() {
  if (can("machines")) machines.value = await api.get("/hosts");
  return machines.peek();
}

let watchers = 0;
let timer = 0;

// watchMachines loads the machines at regular intervals until the returned function is called.
export function watchMachines() {
  if (watchers++ === 0) {
    const reload = () => { if (document.visibilityState === "visible") loadMachines().catch(() => {}); };
    reload();
    timer = setInterval(reload, each);
  }
  let watching = true;
  return () => {
    if (watching && --watchers === 0) clearInterval(timer);
    watching = false;
  };
}

export function forgetMachines() { machines.value = []; }
