// The fleet of a run: its open requests, its merge queues, and a row for each task.
import { html, plain } from "parts/base.js";
import { Card } from "./card.js";
import { useCards } from "./cards.js";
import { Icon } from "./icons.js";
import { When } from "./when.js";
import { costOf, fleetText } from "./words.js";

// states contains the name, icon and colour of each state of a task, in the order of the rows.
const states = {
  waiting: ["waiting for you", "ask", "ask"],
  failed: ["failed", "bad", "bad"],
  working: ["working", "busy", "live"],
  idle: ["idle", "wait", "wait"],
  submitted: ["submitted", "wait", "wait"],
  open: ["open", "wait", "wait"],
  merged: ["merged", "ok", "done"],
  removed: ["removed", "gap", "wait"],
};
const order = Object.keys(states);

// withRequests returns the tasks in the order of their rows. A working task waits for the user if its
// agent has an open request and works on no other task.
function withRequests(tasks, open) {
  const asks = new Set(open.map((q) => q.from?.host?.split(" › ")[0]));
  const busy = tasks.filter((t) => t.state === "working");
  const waits = (t) => t.state === "working" && asks.has(t.agent) && busy.filter((x) => x.agent === t.agent).length === 1;
  const all = tasks.map((t) => (waits(t) ? { ...t, state: "waiting" } : t));
  return all.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

export function FleetTab({ run, view, meta }) {
  const { fleet } = meta, open = view.items.value.filter((i) => i.kind === "request" && !i.data.resolution).map((i) => i.data);
  const { box, selected, select } = useCards(open, { opens: false });
  const tasks = withRequests(fleet.tasks ?? [], open), ended = run.status === "exited" || run.status === "lost";
  return html`<div class="scroll-tab fleet" data-testid="fleet" tabindex="0" role="region" aria-label="Fleet">
    <p class="quiet" data-testid="fleet-sum">${fleetText(fleet, open) || "No task has begun."}</p>
    ${open.length > 0 && html`<ol class="requests" ref=${box} aria-label="Open requests">${open.map((q) => html`<li key=${q.key} class=${q.key === selected ? "selected" : ""} data-key=${q.key} onFocusIn=${() => select(q.key)}><${Card} request=${q} /></li>`)}</ol>`}
    ${fleet.queues?.length > 0 && html`<ul class="queues" aria-label="Merge queues">${fleet.queues.map((q) => html`<li key=${q.name} class="panel"><b>${plain(q.name)}</b> <span>${[`${q.queued} queued`, q.batch > 0 && `gate ${q.tested} of ${q.batch}`, `${q.merged} merged`, `${q.failed} failed`].filter(Boolean).join(" · ")}</span></li>`)}</ul>`}
    <table class="tasks"><caption class="unseen">Tasks</caption><thead><tr>${["Task", "Agent", "State", "Since", "Cost", "Last line"].map((name) => html`<th scope="col" key=${name}>${name}</th>`)}</tr></thead>
      <tbody>${tasks.map((t) => html`<${Task} key=${t.task} task=${t} ended=${ended} />`)}</tbody></table>
    ${fleet.total > tasks.length && html`<p class="quiet">${fleet.total - tasks.length} older tasks are not shown.</p>`}</div>`;
}

function Task({ task: t, ended }) {
  const [word, icon, tone] = states[t.state] ?? [t.state, "lost", "wait"], stopped = ended && t.state === "working";
  return html`<tr data-testid="task" data-state=${t.state}><th scope="row" dir="auto">${plain(t.task)}</th><td><bdi>${plain(t.agent)}</bdi></td>
    <td><span class=${`status tone-${stopped ? "wait" : tone}`}><${Icon} name=${stopped ? "wait" : icon} spin=${icon === "busy" && !stopped} />${stopped ? "stopped" : plain(word)}</span>${t.note && html` <span class="quiet note">${t.state === "submitted" ? "to " : ""}${plain(t.note)}</span>`}</td>
    <td class="nowrap quiet"><${When} ts=${t.since} /></td><td class="nowrap">${t.cost_usd !== undefined && costOf(t.cost_usd)}</td><td class="last" dir="auto">${plain(t.last)}</td></tr>`;
}
