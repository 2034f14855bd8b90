// A run: its description, its thread with requests, and its other views.
import { html, plain, useEffect, useMemo, useState } from "parts/base.js";
import { moment } from "parts/format.js";
import { Tabs, tabId } from "parts/tabs.js";
import { can, conn, devices, machines, openRun, stopRun } from "./data/index.js";
import { Icon } from "./icons.js";
import { lazy } from "./lazy.js";
import { failure, useDo } from "./load.js";
import { go, hrefOf } from "./route.js";
import { RunThread } from "./run_thread.js";
import { Head } from "./shell.js";
import { useKeys } from "./keymap.js";
import { When } from "./when.js";
import { Status, Unsealed, costOf, nameOf, onTerminal } from "./words.js";

const Confirmed = lazy(() => import("./beat.js"), "Confirmed");

// tabs contains the views of a run. needs is the required right. of reports whether a run has the
// view.
export const tabs = [
  { name: "", label: "Thread", show: RunThread },
  { name: "fleet", label: "Fleet", of: (v) => v.meta.fleet, show: lazy(() => import("./tab_fleet.js"), "FleetTab") },
  { name: "terminal", label: "Terminal", of: (v) => onTerminal(v.source), show: lazy(() => import("./tab_terminal.js"), "TerminalTab") },
  { name: "files", label: "Files", needs: "rpc", of: (v) => v.cwd !== "", show: lazy(() => import("./tab_files.js"), "FilesTab") },
  { name: "diff", label: "Diff", needs: "rpc", of: (v) => v.cwd !== "", show: lazy(() => import("./tab_diff.js"), "DiffTab") },
  { name: "structure", label: "Structure", of: (v) => v.meta.structure || v.source === "concerto", show: lazy(() => import("./tab_structure.js"), "StructureTab") },
];

// useView opens a run while the component is mounted.
function useView(id) {
  const [view, set] = useState(null);
  useEffect(() => {
    const opened = openRun(id);
    set(opened);
    return () => opened.close();
  }, [id]);
  return view;
}

export function Run({ id, tab, query }) {
  const view = useView(id);
  if (!view) return html`<${Head} title="Run" back=${hrefOf("runs")} />`;
  return html`<${Opened} id=${id} tab=${tab} query=${query} view=${view} />`;
}

function Opened({ id, tab, query, view }) {
  const state = view.state.value, run = view.row.value, meta = view.meta.value ?? {};
  const source = useMemo(() => view.items.value.find((i) => i.kind === "started")?.data?.source, [view.items.value.length > 0]);
  const shown = tabs.filter((t) => (!t.needs || can(t.needs)) && (!t.of || t.of({ source, meta, cwd: run?.cwd })));
  const current = shown.find((t) => t.name === tab) ?? shown[0];
  useKeys({ tab: (n) => shown[n] && go(hrefOf("runs", id, shown[n].name)) });
  if (state.state === "unknown") {
    return html`<${Head} title="Run not found" back=${hrefOf("runs")} /><div class="empty"><p>Run <code>${plain(id)}</code> does not exist, or you are not allowed to see it.</p></div>`;
  }
  return html`<div class="run">
    <${Head} title=${plain(nameOf(run ?? { id }))} back=${hrefOf("runs")}>${run && html`<${Status} run=${run} />`}${run && can("stop") && html`<${Stop} run=${run} />`}${run?.ended_at && can("start") && html`<${Again} run=${run} meta=${meta} />`}</${Head}>
    ${run && html`<${Unsealed} run=${run} /><${About} run=${run} meta=${meta} />`}
    ${run?.sealed && devices.value?.length > 0 && can("ask-machine") && html`<${Confirmed} run=${run} view=${view} />`}
    ${meta.labels?.why && html`<p class="quiet" data-testid="why">${plain(meta.labels.why)}</p>`}
    ${conn.value.state !== "offline" && failure(state.error)}
    <div class="tabs-row"><${Tabs} label="Views of the run" panel="view" selected=${current.name} onSelect=${(name) => go(hrefOf("runs", id, name))} tabs=${shown.map((t) => ({ ...t, href: hrefOf("runs", id, t.name) }))} />
      ${!state.live && state.state === "ready" && html`<span class="quiet tabs-side" role="status">${state.backlog > 0 ? `loading, ${state.backlog.toLocaleString("en")} events left` : state.from === "cache" ? "stored on this device" : ""}</span>`}</div>
    <div class="tabpanel" role="tabpanel" id="view" aria-labelledby=${tabId("view", current.name)}><${current.show} key=${current.name} run=${run ?? { id }} id=${id} view=${view} query=${query} source=${source} meta=${meta} /></div>
  </div>`;
}

function About({ run, meta }) {
  const machine = machines.value.find((h) => h.id === run.host_id), parent = run.parent_run_id;
  const usage = meta.usage, line = meta.line;
  return html`<details class="about"><summary><span class="mono clip">${plain(run.command)}</span> <span class="quiet clip">on ${plain(machine?.name ?? run.host_id)}${machine && !machine.online ? " (offline)" : ""}</span>
      ${usage && html`<span class="quiet nowrap">${cost(usage)}</span>`}<${Icon} name="out" /></summary>
    <dl class="facts">
      <div><dt>tool</dt><dd>${plain(run.tool)}</dd></div>
      ${run.cwd && html`<div><dt>directory</dt><dd class="mono">${plain(run.cwd)}</dd></div>`}
      <div><dt>started</dt><dd>${run.started_at ? html`${moment(run.started_at)}, <${When} ts=${run.started_at} />` : "unknown"}</dd></div>
      ${run.ended_at && html`<div><dt>ended</dt><dd>${moment(run.ended_at)}, <${When} ts=${run.ended_at} /></dd></div>`}
      ${line && html`<div><dt>line</dt><dd class="mono">${plain(line.file)}:${line.line}</dd></div>`}
      ${usage && html`<div><dt>tokens</dt><dd>${usage.tokens_in ?? 0} in, ${usage.tokens_out ?? 0} out</dd></div>`}
      ${Object.entries(meta.labels ?? {}).map(([k, v]) => html`<div key=${k}><dt>${plain(k)}</dt><dd>${plain(v)}</dd></div>`)}
      <div><dt>id</dt><dd class="mono">${plain(run.id)}</dd></div>
      ${parent && html`<div><dt>started by</dt><dd><a href=${hrefOf("runs", parent)}>${plain(parent)}</a></dd></div>`}
    </dl></details>`;
}

const cost = (u) => (u.cost_usd ? costOf(u.cost_usd) : `${((u.tokens_in ?? 0) + (u.tokens_out ?? 0)).toLocaleString("en")} tokens`);

// Again starts an ended run again, or resumes a waiting run of Concerto.
function Again({ run, meta }) {
  const resumes = run.exit_code === 75 && meta.labels?.run;
  return html`<a class="button" data-testid="again" href=${hrefOf("start", "", "", { again: run.id, ...(resumes && { cmd: "concerto runs resume " + resumes }) })}>${resumes ? "Resume" : "Run again"}</a>`;
}

// Stop stops a run after a confirmation. A second click kills the run.
function Stop({ run }) {
  const [sure, setSure] = useState(false);
  const [stopping, setStopping] = useState(false);
  const [stop, busy, failed] = useDo(async (signal) => {
    await stopRun(run.id, signal);
    setSure(false);
    setStopping(true);
  });
  useEffect(() => {
    if (!sure) return;
    const leave = (e) => e.key === "Escape" && setSure(false);
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, [sure]);
  if (run.status === "exited" || run.status === "lost") return null;
  return html`<span class="stop">${failed && html`<span class="failed" role="alert">${failed}</span>`}
    ${!sure && !stopping && html`<button type="button" class="quiet-button" data-testid="stop" onClick=${() => setSure(true)}><${Icon} name="stop" />Stop</button>`}
    ${sure && html`<span role="alert">Stop this run? <button type="button" class="danger" data-testid="stop-yes" aria-disabled=${busy} onClick=${() => stop("term")}>Stop</button> <button type="button" onClick=${() => setSure(false)}>Cancel</button></span>`}
    ${stopping && html`<span class="quiet" role="status">stopping …</span> <button type="button" class="danger" aria-disabled=${busy} onClick=${() => stop("kill")}>Kill</button>`}</span>`;
}
