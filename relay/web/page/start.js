// The form that starts a run on a machine.
import { html, plain, useRef, useState } from "parts/base.js";
import { home, lockOf, machines, rpc, runs, startRun } from "./data/index.js";
import { failure, Loaded, useDo, useLoad } from "./load.js";
import { go, hrefOf } from "./route.js";
import { Head } from "./shell.js";

export function Start({ query }) {
  const online = machines.value.filter((h) => h.online);
  const [chosen, setChosen] = useState("");
  const was = runs.value.find((r) => r.id === query.get("again"));
  const machine = online.find((h) => h.id === (chosen || was?.host_id))?.id ?? online[0]?.id ?? "";
  return html`<${Head} title="Start a run" />
    ${!machine && html`<div class="empty"><p>No machine is connected. Start hostd on one:</p><pre>concerto-relay hostd --server ${home}</pre></div>`}
    ${machine && html`<${What} key=${machine} machine=${machine} online=${online} was=${was} cmd=${query.get("cmd")} onMachine=${setChosen} />`}`;
}

// recent returns the directories of a machine's runs, the most recent first.
const recent = (machine) => [...new Set(runs.value.filter((r) => r.host_id === machine && r.cwd).map((r) => r.cwd))].slice(0, 12);

function What({ machine, online, was, cmd: line, onMachine }) {
  const load = useLoad(() => rpc("rpc.host.info", null, { host_id: machine }), [machine]);
  const lock = lockOf(machine), tool = useRef(), cmd = useRef(), cwd = useRef(), title = useRef();
  const [start, busy, failed] = useDo(async () => {
    const what = { host_id: machine, tool: tool.current.value, cmd: cmd.current.value };
    if (!what.tool && !what.cmd.trim()) throw new Error("Select a tool or enter a command.");
    if (!what.tool) what.tool = what.cmd.trim().split(/\s+/)[0].split("/").pop().slice(0, 64);
    if (cwd.current.value.trim()) what.cwd = cwd.current.value.trim();
    if (title.current.value.trim()) what.title = title.current.value.trim();
    go(hrefOf("runs", await startRun(what)));
  });
  return html`<form class="panel narrow" onSubmit=${(e) => (e.preventDefault(), start())}>
    <label class="field">Machine<select value=${machine} onChange=${(e) => onMachine(e.target.value)}>${online.map((h) => html`<option key=${h.id} value=${h.id}>${plain(h.name)}</option>`)}</select></label>
    <${Loaded} load=${load} what="the machine's tools">${(info) => html`
      <label class="field">Tool<select ref=${tool} data-testid="start-tool">
        ${(info.tools ?? []).filter((t) => t.ok).map((t) => html`<option key=${t.tool} value=${t.tool}>${plain(t.tool)}</option>`)}
        <option value="" selected=${!!was}>a shell command</option></select></label>
      <label class="field">Command<textarea ref=${cmd} data-testid="start-cmd" rows="2" class="mono" spellcheck=${false} autocapitalize="none" placeholder="leave empty to start the tool" defaultValue=${line ?? was?.command}></textarea></label>
      <label class="field">Directory<input ref=${cwd} class="mono" list="start-dirs" spellcheck=${false} autocapitalize="none" placeholder="the machine's first root" defaultValue=${was?.cwd} /></label>
      <datalist id="start-dirs">${recent(machine).map((d) => html`<option key=${d} value=${d} />`)}</datalist>
      <label class="field"><span>Title <span class="quiet">(optional)</span></span><input ref=${title} defaultValue=${was?.title} maxlength="200" /></label>
      ${failure(failed)}
      ${lock ? html`<p class="quiet">${lock}</p>` : html`<button class="primary" data-testid="start-run" aria-disabled=${busy}>${busy ? "Starting …" : "Start"}</button>`}`}</${Loaded}>
  </form>`;
}
