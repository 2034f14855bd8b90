// The names, icons and colours of states. A state never has only a colour.
import { html, plain } from "parts/base.js";
import { machines, unsealed } from "./data/index.js";
import { Icon } from "./icons.js";

export const statuses = {
  running: { icon: "busy", word: "running", tone: "live" },
  awaiting_input: { icon: "wait", word: "waiting for input", tone: "wait" },
  awaiting_approval: { icon: "ask", word: "needs approval", tone: "ask" },
  exited: { icon: "ok", word: "ended", tone: "done" },
  lost: { icon: "lost", word: "lost", tone: "bad" },
};

// engineStates contains the states of runs of an engine that are not running. The engine's machine
// reports them as a label.
const engineStates = {
  ready: { icon: "wait", word: "ready", tone: "wait" },
  waiting: { icon: "wait", word: "waiting", tone: "wait" },
  held: { icon: "bad", word: "held", tone: "bad" },
  damaged: { icon: "bad", word: "damaged", tone: "bad" },
};

// statusOf returns the text, icon and colour of a run's state.
export function statusOf(run) {
  const row = (run.status === "running" && engineStates[run.meta?.labels?.state]) || (statuses[run.status] ?? { icon: "lost", word: String(run.status), tone: "wait" });
  if (run.status !== "exited") return row;
  if (run.exit_code === 0) return { ...row, word: "done" };
  return { icon: "bad", word: run.exit_code == null ? "ended" : `exit ${run.exit_code}`, tone: "bad" };
}

export function Status({ run }) {
  const s = statusOf(run);
  return html`<span class=${"status tone-" + s.tone}><${Icon} name=${s.icon} spin=${s.icon === "busy"} />${plain(s.word)}</span>`;
}

// Unsealed marks a run that is not sealed, although its machine seals.
export const Unsealed = ({ run, short }) => html`<span class="failed">${unsealed.value(run, short)}</span>`;

// nameOf returns the title of a run, or its command if it has no title.
export const nameOf = (run) => run?.title || run?.command || run?.tool || run?.id || "";

// MachineFilter selects one of several machines, or all.
export function MachineFilter({ value, onChange }) {
  if (machines.value.length < 2 && !value) return null;
  return html`<select aria-label="Machine" value=${value ?? ""} onChange=${onChange}><option value="">all machines</option>${machines.value.map((h) => html`<option key=${h.id} value=${h.id}>${plain(h.name)}</option>`)}</select>`;
}

// onTerminal reports whether a run has a terminal.
export const onTerminal = (source) => !source || source === "pty";

// links describes the states of the connection.
export const links = {
  connecting: { icon: "busy", word: "connecting", tone: "wait" },
  online: { icon: "live", word: "live", tone: "done" },
  offline: { icon: "offline", word: "offline", tone: "bad" },
  ended: { icon: "key", word: "session ended", tone: "bad" },
};

// costOf formats a cost in dollars.
export const costOf = (usd) => `$${usd.toFixed(usd < 1 ? 4 : 2)}`;

// fleetText summarizes the tasks of a run: "5 working, 2 waiting for you, 7 merged, 1 failed". A host
// with an open request waits and does not work.
export function fleetText(fleet, open) {
  const waits = open.filter((q) => q.from?.host).length;
  return [[Math.max(0, fleet.working - waits), "working"], [open.length, "waiting for you"], [fleet.merged, "merged"], [fleet.failed, "failed"]]
    .filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`).join(", ");
}
