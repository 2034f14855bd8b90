// The machines with their diagnostics and logs, and the pairing of a new one.
import { html, plain, useRef, useState } from "parts/base.js";
import { api, can, home, machines, loadMachines, rpc } from "./data/index.js";
import { Icon } from "./icons.js";
import { failure, Loaded, useDo, useLoad } from "./load.js";
import { Pair } from "./pair.js";
import { Head } from "./shell.js";
import { When } from "./when.js";
import { go, hrefOf } from "./route.js";

export function Machines({ id, query }) {
  if (id === "pair") return html`<${Pair} code=${query.get("code") ?? ""} />`;
  if (id) return html`<${Machine} id=${id} />`;
  const all = machines.value;
  return html`<${Head} title="Machines">${can("manage-machines") && html`<a class="button" href=${hrefOf("hosts", "pair")}>Pair a machine</a>`}</${Head}>
    ${all.length === 0 && html`<${Empty} />`}
    <ul class="cards">${all.map((h) => html`<li key=${h.id}><a class="card" href=${hrefOf("hosts", h.id)}>
      <span class="card-title" dir="auto">${plain(h.name)}</span>
      <${Presence} machine=${h} />
      <span class="quiet">authenticates with ${h.auth === "key" ? "a key" : "a token"}${h.name !== h.id && html`, <code>${plain(h.id)}</code>`}</span>
    </a></li>`)}</ul>`;
}

function Empty() {
  return html`<div class="empty"><p>No machines yet. On the machine where agents run, run:</p>
    <pre>concerto-relay pair --server ${home}</pre>
    <p>It prints a code of eight letters. Enter the code under “Pair a machine”.</p></div>`;
}

export function Presence({ machine }) {
  return html`<span class=${"status tone-" + (machine.online ? "done" : "wait")}><${Icon} name=${machine.online ? "live" : "offline"} />
    ${machine.online ? "online" : machine.last_seen_at ? html`offline, last seen <${When} ts=${machine.last_seen_at} />` : "offline, never connected"}</span>`;
}

function Machine({ id }) {
  const machine = machines.value.find((h) => h.id === id);
  return html`<${Head} title=${plain(machine?.name ?? id)} back=${hrefOf("hosts")}>${machine && html`<${Presence} machine=${machine} />`}</${Head}>
    ${!machine && html`<p class="failed">Machine ${plain(id)} does not exist, or you are not allowed to see it.</p>`}
    ${machine && can("ask-machine") && html`<${Doctor} id=${id} online=${machine.online} /><${Log} id=${id} online=${machine.online} />`}
    ${machine && !can("ask-machine") && html`<p class="quiet">Only operators can see the diagnostics and the log.</p>`}
    ${machine && can("manage-machines") && html`<${Name} machine=${machine} /><${Remove} machine=${machine} />`}`;
}

function Doctor({ id, online }) {
  const load = useLoad(() => rpc("rpc.host.doctor", null, { host_id: id }), [id, online]);
  return html`<section class="panel" aria-label="Diagnostics"><div class="panel-head"><h2>Diagnostics</h2><button type="button" onClick=${load.reload} aria-disabled=${load.busy}>Refresh</button></div>
    <${Loaded} load=${load} what="the diagnostics">${(d) => html`
      <dl class="facts"><div><dt>system</dt><dd>${plain(d.os)}/${plain(d.arch)}</dd></div><div><dt>version</dt><dd>${plain(d.version)}</dd></div><div><dt>process</dt><dd>${d.pid}</dd></div></dl>
      <table><caption class="unseen">Dependencies and tools of the machine</caption><thead><tr><th scope="col">name</th><th scope="col">state</th><th scope="col">detail</th></tr></thead><tbody>
        ${(d.deps ?? []).map((x) => html`<${Check} key=${"d" + x.name} name=${x.name} ok=${x.ok} detail=${x.detail} />`)}
        ${(d.tools ?? []).map((x) => html`<${Check} key=${"t" + x.tool} name=${x.tool} ok=${x.ok} optional detail=${x.ok ? x.bin : "not found: " + x.bin} />`)}
      </tbody></table>`}</${Loaded}></section>`;
}

function Check({ name, ok, detail, optional }) {
  const tone = ok ? "done" : optional ? "wait" : "bad";
  return html`<tr><th scope="row">${plain(name)}</th><td><span class=${"status tone-" + tone}><${Icon} name=${ok ? "ok" : optional ? "lost" : "bad"} />${ok ? "ok" : optional ? "not found" : "failed"}</span></td>
    <td class="wrap">${plain(detail)}</td></tr>`;
}

function Log({ id, online }) {
  const [lines, setLines] = useState(0); // number of requested log lines; 0 if none were requested
  const load = useLoad(async () => lines && rpc("rpc.host.logs.tail", null, { host_id: id, lines }), [id, lines, online]);
  return html`<section class="panel" aria-label="Log"><div class="panel-head"><h2>Log</h2><button type="button" onClick=${() => (lines ? load.reload() : setLines(200))}>${lines ? "Refresh" : "Show the last lines"}</button></div>
    ${lines > 0 && html`<${Loaded} load=${load} what="the log">${(l) => l && html`<p class="quiet">${plain(l.path)}${l.truncated && ", last lines"}</p>
      <pre class="log" tabindex="0" aria-label="the machine's log">${plain(l.text)}</pre>
      ${l.truncated && lines < 2000 && html`<button type="button" onClick=${() => setLines(2000)}>Show 2,000 lines</button>`}`}</${Loaded}>`}</section>`;
}

function Name({ machine }) {
  const field = useRef();
  const [name, busy, failed] = useDo(async () => {
    await api.post("/hosts/" + encodeURIComponent(machine.id), { name: field.current.value });
    await loadMachines();
  });
  return html`<form class="panel bar" onSubmit=${(e) => (e.preventDefault(), name())}><label class="field grow">Name<input ref=${field} data-testid="host-name" maxlength="64" required defaultValue=${machine.name} /></label><button aria-disabled=${busy}>Rename</button>
    ${failure(failed)}</form>`;
}

function Remove({ machine }) {
  const [sure, setSure] = useState(false);
  const [remove, busy, failed] = useDo(async () => {
    await api.del("/hosts/" + encodeURIComponent(machine.id));
    await loadMachines();
    go(hrefOf("hosts"));
  });
  return html`<section class="panel" aria-label="Remove"><h2>Remove this machine</h2>
    <p class="quiet">The machine’s runs stay, and you can pair it again.</p>
    ${!sure && html`<button type="button" class="danger" onClick=${() => setSure(true)}>Remove ${plain(machine.name)}</button>`}
    ${sure && html`<p role="alert">Remove ${plain(machine.name)}? <button type="button" class="danger" onClick=${remove} aria-disabled=${busy}>Remove</button> <button type="button" onClick=${() => setSure(false)}>Cancel</button></p>`}
    ${failure(failed)}</section>`;
}
