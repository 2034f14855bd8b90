// The components of the page.
import { classes, html, plain, useEffect, useLayoutEffect, useRef, useState } from "parts/base.js";
import { Editor } from "parts/editor.js";
import { Graph } from "parts/graph.js";
import { Tabs, tabId } from "parts/tabs.js";
import { templates } from "./messages.js";
import * as state from "./state.js";

const tabs = ["output", "problems", "graph", "ir", "host", "agent"];
const labels = { output: "Output", problems: "Problems", graph: "Graph", ir: "IR", host: "Host", agent: "Agent" };

export function Page() {
  return html`<${Head} />
    <${Notice} />
    <main class="work">
      <section class="left" aria-label="Program"><${Files} /><${Text} /></section>
      <section class="right" aria-label="Results"><${Results} /></section>
    </main>`;
}

function Head() {
  const active = state.isActive();
  const { state: name, text } = state.status.value;
  const isStopped = state.stopped.value !== null;
  return html`<header class="head">
    <h1>Concerto</h1>
    <label><span class="unseen">Example</span><select data-testid="examples" value=${state.example.value} onChange=${(e) => state.choose(e.target.value)}>
      ${state.example.value === "" && html`<option value="">Examples…</option>`}
      ${groups(state.examples.value).map(([group, all]) => html`<optgroup key=${group} label=${group}>${all.map((x) => html`<option key=${x.name} value=${x.name}>${x.title}</option>`)}</optgroup>`)}
    </select></label>
    <div class="do">
      ${isStopped
        ? html`<button type="button" class="primary" data-testid="run" title="Continue to the end" onClick=${state.proceed}>Continue</button>`
        : html`<button type="button" class="primary" data-testid="run" title="Control Enter" disabled=${active || name === "loading"} onClick=${() => state.run().catch(() => {})}>Run</button>`}
      <button type="button" data-testid="stop" disabled=${!active} onClick=${state.stop}>Stop</button>
      <button type="button" data-testid="step" disabled=${name === "loading" || (active && !state.stepwise.value)} onClick=${state.step}>Step</button>
      <button type="button" onClick=${state.format} disabled=${name === "loading"}>Format</button>
      ${state.hasRecording() && html`<label class="box"><input type="checkbox" data-testid="by-hand" checked=${state.byHand.value} disabled=${active} onChange=${(e) => (state.byHand.value = e.target.checked)} /> Play hosts yourself</label>`}
      <button type="button" data-testid="share" onClick=${state.share} disabled=${name === "loading"}>Share</button>
    </div>
    <p class=${`status ${name}`} role="status" data-testid="status" data-state=${name}>${plain(text)}</p>
    ${state.loaded.value && html`<progress aria-label="Loading the compiler" max=${state.loaded.value.total} value=${state.loaded.value.done}></progress><span class="about" data-testid="loaded">${state.progress()}</span>`}
    <label class="theme"><span class="unseen">Theme</span><select value=${state.theme.value} onChange=${(e) => state.setTheme(e.target.value)}>
      <option value="">System</option><option value="light">Light</option><option value="dark">Dark</option><option value="contrast">Contrast</option>
    </select></label>
  </header>`;
}

function groups(all) {
  const by = new Map();
  for (const x of all) by.set(x.group, [...(by.get(x.group) ?? []), x]);
  return [...by];
}

function Notice() {
  const n = state.notice.value;
  return html`<div class="notice" role="status" aria-label="Notice" data-testid="notice" hidden=${!n}>${n && html`<span>${plain(n.text)}</span>${n.more && html` <a href=${n.more.href} target="_blank" rel="noreferrer">${n.more.label}</a>`}<button type="button" class="bare" onClick=${() => (state.notice.value = null)}>Dismiss</button>`}</div>`;
}

function Files() {
  const [adding, setAdding] = useState(null);
  const box = useRef();
  const names = Object.keys(state.files.value).sort();
  const temporary = Object.keys(state.temporary.value).sort().filter((n) => !names.includes(n) || state.temporary.value[n] !== state.files.value[n]);
  const counts = countBy(state.problems.value);
  useLayoutEffect(() => {
    if (adding !== null) box.current?.focus();
  }, [adding !== null]);
  const add = (event) => {
    event.preventDefault();
    try {
      state.add(adding.trim());
      setAdding(null);
    } catch (e) {
      state.tell(e.message);
    }
  };
  const own = (n) => html`<li key=${n} class=${classes(state.open.value === n && "open")}><button type="button" class="bare" aria-current=${state.open.value === n ? "true" : undefined} onClick=${() => state.show(n)}>${plain(n)}${counts.get(n) > 0 && html`<span class="count">${counts.get(n)}<span class="unseen"> problems</span></span>`}</button>${names.length > 1 && state.open.value === n && html`<button type="button" class="bare close" aria-label=${`Remove ${n}`} onClick=${() => state.remove(n)}>×</button>`}</li>`;
  const written = (n) => html`<li key=${`temporary ${n}`} class=${classes("temporary", state.open.value === `temporary:${n}` && "open")}><button type="button" class="bare" aria-current=${state.open.value === `temporary:${n}` ? "true" : undefined} onClick=${() => state.show(`temporary:${n}`)} title="Written by the last run">${plain(n)}<span class="unseen">, written by the last run</span></button></li>`;
  return html`<nav class="files" aria-label="Files" data-testid="files"><ul>${names.map(own)}${temporary.map(written)}</ul>
    ${adding === null
      ? html`<button type="button" class="bare" onClick=${() => setAdding("")}>New file</button>`
      : html`<form onSubmit=${add}><label><span class="unseen">Name of the new file</span><input ref=${box} value=${adding} placeholder="name.conc" onInput=${(e) => setAdding(e.target.value)} onKeyDown=${(e) => e.key === "Escape" && setAdding(null)} /></label><button type="submit">Add</button></form>`}
  </nav>`;
}

function countBy(problems) {
  const by = new Map();
  for (const p of problems) by.set(p.file, (by.get(p.file) ?? 0) + 1);
  return by;
}

function Text() {
  const name = state.open.value;
  const at = state.stopped.value;
  if (name.startsWith("temporary:")) {
    const text = state.temporary.value[name.slice("temporary:".length)];
    return html`<pre class="written" tabindex="0" role="region" aria-label="Written file">${text === null ? "This file is no text." : plain(text ?? "")}</pre>`;
  }
  const marks = state.problems.value.filter((p) => p.file === name);
  return html`<${Editor} name=${name} text=${state.files.value[name] ?? ""} lang=${name.endsWith(".conc") ? "concerto" : ""} marks=${marks} line=${at?.file === name ? at.line : 0} focus=${state.focus.value} label=${`Text of ${name}`}
    onChange=${(text) => state.edit(name, text)} complete=${state.complete} describe=${state.describe} onApply=${state.apply} onRun=${() => (state.stopped.value ? state.proceed() : state.run().catch(() => {}))} />`;
}

const narrow = matchMedia("(max-width: 48rem)");

function Results() {
  const selected = state.tab.value;
  const isRunning = state.status.value.state === "running";
  useEffect(() => {
    if (isRunning && narrow.matches) document.querySelector(".right").scrollIntoView();
  }, [isRunning]);
  const problems = state.problems.value.length;
  const all = tabs.map((name) => ({ name, props: { "data-testid": `tab-${name}` }, label: name === "problems" && problems ? `Problems (${problems})` : name === "agent" && state.agents.value.length ? "Agent (waiting)" : labels[name] }));
  const panel = (name, content) => html`<div class=${`view ${name}`} hidden=${selected !== name}>${content}</div>`;
  return html`<${Tabs} tabs=${all} selected=${selected} onSelect=${state.look} label="Results" panel="results" />
    <div id="results" class="results" role="tabpanel" aria-labelledby=${tabId("results", selected)}>
      ${panel("output", html`<${Output} />`)}
      ${panel("problems", html`<${Problems} />`)}
      ${panel("graph", html`<div data-testid="graph">${selected === "graph" && html`<${Structure} />`}</div>`)}
      ${panel("ir", html`<pre data-testid="ir" tabindex="0" role="region" aria-label="IR">${state.ir.value.error ? sentence(state.ir.value.error) : plain(state.ir.value.value ?? "")}</pre>`)}
      ${panel("host", html`<${Host} />`)}
      ${panel("agent", html`<${Agent} />`)}
    </div>`;
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

function Structure() {
  const { value, error } = state.graph.value;
  if (error) return html`<p class="list-empty">${plain(sentence(error))}</p>`;
  return value ? html`<${Graph} structure=${value} />` : html`<p class="list-empty">…</p>`;
}

function Output() {
  const box = useRef();
  const pieces = state.output.value;
  const asks = state.asks.value;
  const at = state.stopped.value;
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [pieces]);
  if (["loading", "ready"].includes(state.status.value.state)) return html`<${Empty} />`;
  return html`<pre class="printed" ref=${box} data-testid="output" role="log" aria-label="Output" tabindex="0">${pieces.map((p, i) => (p.kind === "stdout" ? plain(p.text) : html`<span key=${i} class=${p.kind}>${plain(p.text)}</span>`))}</pre>
    ${at && html`<section class="variables" aria-label="Variables"><p>Before line ${at.line} in <code>${plain(at.function)}</code></p>${at.variables.length > 0 && html`<table><tbody>${at.variables.map((v) => html`<tr key=${v.name}><th scope="row">${plain(v.name)}</th><td><code>${plain(v.value)}</code></td></tr>`)}</tbody></table>`}</section>`}
    ${asks.length > 0 && html`<${Question} key=${asks[0].number} ask=${asks[0]} />`}`;
}

// docs is the address of the site that contains the playground, or "".
const docs = document.getElementById("app").dataset.docs;
const Doc = ({ page, text, label }) => html`<a href=${docs ? `${docs}${page}.html` : `https://github.com/concerto-lang/concerto/tree/main/${text}`} target=${docs ? undefined : "_blank"} rel="noreferrer">${label}</a>`;

// Empty is shown instead of the output before the first run of a program.
function Empty() {
  const x = state.examples.value.find((e) => e.name === state.example.value);
  const offered = state.examples.value.filter((e) => e.about);
  return html`<section class="empty" data-testid="empty" aria-label="Start" tabindex="0">
    ${x && html`<h2>${plain(x.title)}</h2>${x.about && html`<p>${plain(sentence(x.about))}</p>`}`}
    <p>Press Run, or Control Enter, to run the program. Its output appears here. You can change the program; errors appear while you type.</p>
    ${state.hasRecording() && html`<p>A recording plays the host. With “Play hosts yourself”, you send its messages.</p>`}
    <p>${x && html`<${Doc} page=${x.page} text=${x.text} label=${x.about ? "About this example" : "This page of the manual"} />, `}<${Doc} page="guide/index" text="docs/guide" label="The guide" />, <${Doc} page="manual/index" text="spec" label="The manual" /></p>
    ${offered.length > 0 && html`<h2>Examples</h2>`}${groups(offered).map(([theme, all]) => html`<h3 key=${theme}>${theme}</h3><ul>${all.map((e) => html`<li key=${e.name}><button type="button" class="bare" aria-current=${e === x ? "true" : undefined} onClick=${() => state.choose(e.name)}>${e.title}</button> ${plain(e.about)}</li>`)}</ul>`)}
  </section>`;
}

function Question({ ask }) {
  const [value, setValue] = useState("");
  const box = useRef();
  useEffect(() => box.current.focus(), []);
  const send = (event) => {
    event.preventDefault();
    state.answer(ask.number, value);
  };
  const choices = ask.choices ?? [];
  const buttons = choices.length > 0 && html`<span class="row">${choices.map(([answer, label], i) => html`<button key=${answer} type="button" ref=${ask.closed && i === choices.length - 1 ? box : undefined} class=${classes(ask.closed && i === 0 && "primary")} data-testid="answer-choice" onClick=${() => state.answer(ask.number, answer)}>${plain(label)}</button>`)}</span>`;
  if (ask.closed) return html`<div class="question" role="group" aria-label="Approval"><p>${plain(ask.prompt)}</p>${buttons}</div>`;
  return html`<form class="question" onSubmit=${send}><label>${plain(ask.prompt)}<input ref=${box} data-testid="answer-value" value=${value} autocomplete="off" onInput=${(e) => setValue(e.target.value)} /></label>${buttons}<button type="submit" class=${classes(!buttons && "primary")} data-testid="answer-send">Answer</button></form>`;
}

function Problems() {
  const all = state.problems.value;
  const one = (p, i) => html`<li key=${i} class=${p.severity}>
    <button type="button" class="bare at" onClick=${() => p.file && state.show(p.file, p)}><span class="kind">${p.severity}${p.code && `[${p.code}]`}</span> <span>${plain(p.message)}</span>${p.file && html` <span class="place">${plain(`${p.file}:${p.line}:${p.column}`)}</span>`}</button>
    ${p.hints.map((h, n) => html`<p key=${n} class="hint">hint: ${plain(h)}</p>`)}
    ${p.fixes.map((f, n) => html`<button key=${n} type="button" class="fix" onClick=${() => state.apply(f.edits)}>Fix: ${plain(f.title)}</button>`)}
  </li>`;
  return html`<div data-testid="problems">${all.length === 0 ? html`<p class="list-empty">No problems.</p>` : html`<ul class="problems">${all.map(one)}</ul>`}</div>`;
}

const directions = { ">": "to the host", "<": "from the host", "!": "standard error", ".": "state" };

function Host() {
  const [chosen, setChosen] = useState("");
  const [text, setText] = useState(JSON.stringify(templates.result));
  const [problem, setProblem] = useState("");
  const box = useRef();
  const lines = state.hostLines.value;
  const hosts = state.played.value;
  const name = (p) => `${p.host} ${p.proc}`;
  const target = hosts.find((p) => name(p) === chosen) ?? hosts.at(-1);
  useEffect(() => {
    box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const send = (event) => {
    event.preventDefault();
    if (!target) {
      setProblem("No host is waiting: run a program that uses one.");
      return;
    }
    setProblem("");
    state.send(target.host, target.proc, text.replaceAll("\n", " ")).catch((e) => setProblem(sentence(e.message)));
  };
  return html`<p class="about">${state.hasRecording() && !state.byHand.value ? html`The recordings in <code>CONNECTOR.host</code> play the hosts. With “Play hosts yourself”, you send their lines.` : "You play the hosts: you see each line that the program sends, and send the lines of the host."}</p>
    <div class="lines" ref=${box} data-testid="host-log" role="log" aria-label="Lines of hosts" tabindex="0"><ol>${lines.map((l, i) => html`<li key=${i} class=${l.dir === ">" ? "to" : l.dir === "<" ? "from" : "other"}><span class="who">${plain(name(l))}</span> <span class="dir" aria-label=${directions[l.dir]} role="img">${l.dir}</span> <code>${plain(l.line)}</code></li>`)}</ol></div>
    <form class="say" onSubmit=${send}>
      <div class="row">
        ${hosts.length > 1 && html`<label>Host <select value=${target && name(target)} onChange=${(e) => setChosen(e.target.value)}>${hosts.map((p) => html`<option key=${name(p)} value=${name(p)}>${plain(name(p))}</option>`)}</select></label>`}
        <label>Template <select onChange=${(e) => setText(JSON.stringify(templates[e.target.value]))}>${Object.keys(templates).map((t) => html`<option key=${t} value=${t}>${t}</option>`)}</select></label>
        <label class="box"><input type="checkbox" checked=${state.acknowledge.value} onChange=${(e) => (state.acknowledge.value = e.target.checked)} /> Acknowledge <code>init</code></label>
      </div>
      <label>Message <textarea data-testid="host-message" rows="3" spellcheck="false" value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>
      <button type="submit" class="primary" data-testid="host-send">Send</button>
      ${problem && html`<p class="problem" role="alert">${plain(problem)}</p>`}
    </form>`;
}

function Agent() {
  const all = state.agents.value;
  const ask = all[0];
  const [reply, setReply] = useState("");
  const send = (event) => {
    event.preventDefault();
    if (!ask) return;
    state.answer(ask.number, reply);
    setReply("");
  };
  const mode = state.mode.value;
  return html`<div class="row"><label>Agents are answered <select data-testid="agent-mode" value=${mode} onChange=${(e) => (state.mode.value = e.target.value)}>
      <option value="hand">by hand</option><option value="mock">by mock replies</option><option value="provider">by a provider</option></select></label>
      ${mode === "provider" && html`<label>Key of the provider <input type="password" data-testid="provider-key" autocomplete="off" value=${state.key.value} onInput=${(e) => (state.key.value = e.target.value)} /></label>`}</div>
    <p class="about">${mode === "provider" ? "Requests go from this page to the provider that Concerto.toml names: OpenAI, Anthropic, Gemini, or a server on this machine. The key stays in this page and is lost when you reload it." : "Connections with provider = \"scripted\" answer by their replies."}</p>
    <div class="prompt" data-testid="agent-prompt" tabindex="0" role="region" aria-label="Prompt of the agent">${ask ? html`<p><b>${plain(ask.agent)}</b>${ask.model && ` (${plain(ask.model)})`}</p>${ask.system && html`<section><h3>system</h3><pre>${plain(ask.system)}</pre></section>`}${ask.messages.map((m, i) => html`<section key=${i}><h3>${m.role}</h3><pre>${plain(m.text)}</pre></section>`)}${ask.schema && html`<section><h3>schema of the reply</h3><pre>${JSON.stringify(ask.schema, null, 2)}</pre></section>`}` : html`<p class="list-empty">No agent is waiting.</p>`}</div>
    <form class="say" onSubmit=${send}><label>Reply <textarea data-testid="agent-reply" rows="4" value=${reply} onInput=${(e) => setReply(e.target.value)}></textarea></label><button type="submit" class="primary" data-testid="agent-send" disabled=${!ask}>Send</button></form>`;
}

