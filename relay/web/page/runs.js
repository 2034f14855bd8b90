// The list of runs, the last active run first, or a single run.
import { html, plain, useMemo, useRef, useState } from "parts/base.js";
import { machines, loadMoreRuns, runs, runsState } from "./data/index.js";
import { useKeys } from "./keymap.js";
import { go, hrefOf } from "./route.js";
import { Run } from "./run.js";
import { Head } from "./shell.js";
import { When } from "./when.js";
import { MachineFilter, Status, Unsealed, fleetText, nameOf } from "./words.js";
import { failure } from "./load.js";

export function Runs({ id, tab, query }) {
  return id ? html`<${Run} key=${id} id=${id} tab=${tab} query=${query} />` : html`<${All} query=${query} />`;
}

// filters contains the states that each filter shows.
const filters = [
  { name: "", label: "All" },
  { name: "asks", label: "Waiting", of: ["awaiting_approval", "awaiting_input"] },
  { name: "running", label: "Running", of: ["running"] },
  { name: "over", label: "Ended", of: ["exited", "lost"] },
];

function All({ query }) {
  const [text, setText] = useState(query.get("q") ?? "");
  const status = query.get("status") ?? "", machine = query.get("host") ?? "";
  const field = useRef(), box = useRef();
  const set = (more) => {
    const next = Object.fromEntries(Object.entries({ q: text, status, host: machine, ...more }).filter(([, v]) => v));
    go(hrefOf("runs", "", "", next), { replace: true });
  };
  const shown = useMemo(() => choose(runs.value, text, status, machine), [runs.value, text, status, machine]);
  const [chosen, choose1] = useState(0);
  const at = Math.min(chosen, Math.max(0, shown.length - 1));
  const move = (by) => {
    const to = Math.min(shown.length - 1, Math.max(0, at + by));
    choose1(to);
    box.current?.querySelectorAll("[data-testid=run-row]")[to]?.focus();
  };
  useKeys({ filter: () => field.current?.focus(), next: () => move(document.activeElement?.closest("[data-testid=run-row]") ? 1 : 0), previous: () => move(-1), open: () => shown[at] && go(hrefOf("runs", shown[at].id)) });
  const state = runsState.value;
  return html`<${Head} title="Runs"><span class="quiet">${shown.length}${state.more ? "+" : ""}</span></${Head}>
    <div class="bar"><input ref=${field} type="search" class="grow" placeholder="Filter by title, command, directory" aria-label="Filter runs" value=${text} onInput=${(e) => (setText(e.target.value), set({ q: e.target.value }))}
        onKeyDown=${(e) => e.key === "Escape" ? e.target.blur() : e.key === "Enter" && (e.preventDefault(), choose1(0), move(-at))} />
      <div class="chips" role="group" aria-label="State">${filters.map((f) => html`<button key=${f.name} type="button" aria-pressed=${f.name === status} onClick=${() => set({ status: f.name })}>${f.label}</button>`)}</div>
      <${MachineFilter} value=${machine} onChange=${(e) => set({ host: e.target.value })} /></div>
    ${failure(state.error)}
    ${state.from === "cache" && html`<p class="quiet">Offline: this is the list from the last connection.</p>`}
    ${!state.loading && shown.length === 0 && html`<${None} any=${runs.value.length > 0} />`}
    ${shown.length === 0 && state.loading && html`<p class="quiet" role="status">Loading …</p>`}
    <ul class="rows" ref=${box}>${shown.map((r, i) => html`<${Row} key=${r.id} run=${r} onFocus=${() => choose1(i)} />`)}</ul>
    ${state.more && html`<p><button type="button" aria-disabled=${state.loading} onClick=${loadMoreRuns}>Show older runs</button></p>`}`;
}

function None({ any }) {
  if (any) return html`<div class="empty"><p>No runs match the filter.</p></div>`;
  return html`<div class="empty"><p>No runs yet.</p><p>On a machine with hostd, start one:</p><pre>concerto-relay run -- claude</pre></div>`;
}

function choose(all, text, status, machine) {
  const words = text.toLowerCase().split(/\s+/).filter((w) => w), of = filters.find((f) => f.name === status)?.of;
  return all.filter((r) => (!of || of.includes(r.status)) && (!machine || r.host_id === machine) && words.every((w) => `${r.title} ${r.command} ${r.tool} ${r.cwd} ${r.host_id} ${r.id}`.toLowerCase().includes(w)));
}

const machineName = (id) => machines.value.find((h) => h.id === id)?.name ?? id;

function Row({ run, onFocus }) {
  const open = run.pending?.length ?? 0, fleet = run.meta?.fleet && fleetText(run.meta.fleet, run.pending ?? []);
  return html`<li><a class="run-row" data-testid="run-row" data-run=${run.id} href=${hrefOf("runs", run.id)} onFocus=${onFocus}>
    <span class="run-title" dir="auto">${plain(nameOf(run))}</span><${Status} run=${run} />
    <${Unsealed} run=${run} short />
    <span class="run-about quiet"><span>${plain(run.tool)}</span> on <bdi>${plain(machineName(run.host_id))}</bdi> <span class="run-cwd">${plain(run.cwd)}</span></span>
    ${fleet && html`<span class="run-fleet" data-testid="run-fleet">${fleet}</span>`}
    <span class="quiet run-when"><${When} ts=${run.last_active_at} /></span>
    ${open > 0 && html`<span class="run-asks">${plain(run.pending[0].prompt || run.pending[0].op_tool || "asks")}${open > 1 && `, and ${open - 1} more`}</span>`}</a></li>`;
}
