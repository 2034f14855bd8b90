// The state of the page, and what the user does with it. The components of view.js show the state.
import { signal, batch } from "parts/base.js";
import { Engines, limits } from "./engine.js";
import * as link from "./link.js";

const starter = { "main.conc": 'fn main() {\n    println("hello");\n}\n' };

export const files = signal(starter); // the page's files, by name
export const temporary = signal({}); // files that the last run has written, by name
export const open = signal("main.conc");
export const status = signal({ state: "loading", text: "loading" });
export const loaded = signal(null); // fetched bytes of the module {done, total}, until the page is ready
export const progress = () => loaded.value && `${(loaded.value.done / 1e6).toFixed(1)} of ${(loaded.value.total / 1e6).toFixed(1)} MB`;
export const notice = signal(null); // {text, more?}: more is {href, label}
export const output = signal([]); // pieces of the output {kind: "stdout"|"stderr"|"event", text}
export const problems = signal([]);
export const tab = signal("output");
export const graph = signal({}); // {value} or {error}
export const ir = signal({});
// awaited emits and questions of hosts without an answer {number, prompt, choices?, closed?}; choices are
// pairs of an answer and its label, and closed means that there are no other answers
export const asks = signal([]);
export const agents = signal([]); // requests of agents without an answer
export const mode = signal("hand"); // who answers agents
export const key = signal(""); // the provider's key: only here, never stored
export const hostLines = signal([]); // lines of hosts
export const played = signal([]); // running hosts that the user plays {host, proc}
export const byHand = signal(false); // the user plays all hosts, also those with a recording
export const acknowledge = signal(true); // init is acknowledged by the page
export const stopped = signal(null); // the line at which the run has stopped, {file, line, variables}
export const stepwise = signal(false); // the run stops before each line
export const examples = signal([]);
export const example = signal("");
export const focus = signal(null); // a range of the open file that the editor selects
export const theme = signal(readTheme());

// explained maps notices to the places that explain them.
const explained = [[/^commands are/, "commands"], [/^MCP servers are/, "mcp"], [/^the network is/, "network"], [/^git is/, "git"], [/^packages are/, "packages"]];

const isRecording = (name) => name.endsWith(".host");
export const hasRecording = () => Object.keys(files.value).some(isRecording);

let engines;
let current = null; // the run {resolve, stdout, stderr, emits}
let checking = 0;

export const isActive = () => ["running", "waiting", "stepping"].includes(status.value.state);

export function tell(text) {
  const page = explained.find(([pattern]) => pattern.test(text))?.[1];
  notice.value = { text, more: page && { href: `about.html#${page}`, label: "Learn more" } };
}

function set(state, text) {
  status.value = { state, text };
}

// ready is fulfilled when a program can run and be edited.
export function start() {
  if (typeof WebAssembly !== "object" || typeof WebAssembly.compileStreaming !== "function") {
    const missing = "This browser does not support WebAssembly";
    set("failed", "not loaded");
    tell(missing);
    return Promise.reject(new Error(missing));
  }
  const size = Number(document.getElementById("app").dataset.module);
  engines = new Engines(receive, size, (done, total) => {
    if (status.value.state !== "loading") return;
    loaded.value = { done, total };
    if (done === total) set("loading", "starting");
  });
  const content = load();
  return Promise.all([engines.ready, content]).then(async () => {
    await engines.analysis.call("put", files.value);
    loaded.value = null;
    set("ready", "ready");
    diagnose().then(() => engines.warm()).catch(() => {});
  }, (e) => {
    set("failed", "not loaded");
    tell(`The playground could not be loaded: ${e.message}`);
    throw e;
  });
}

// load puts the initial files into the page: those of a link, of the command line, or the first
// example.
async function load() {
  const list = fetch(new URL("./examples.json", import.meta.url)).then((r) => r.json());
  const given = document.body.dataset.start;
  if (location.hash.startsWith(link.prefix)) {
    await list.then((all) => (examples.value = all));
    await follow();
    return;
  }
  if (given) {
    const content = await fetch(new URL(given, import.meta.url)).then((r) => r.json());
    put(content.files, content.open);
    list.then((all) => (examples.value = all), () => {});
    return;
  }
  examples.value = await list;
  choose(examples.value[0]?.name);
}

// follow opens the link of the address. It never runs the program.
export async function follow() {
  if (!location.hash.startsWith(link.prefix)) return;
  try {
    const content = await link.decode(location.hash);
    put(content.files, content.open);
    example.value = "";
    notice.value = null;
  } catch (e) {
    choose(examples.value[0]?.name);
    tell(`This link was not opened: ${e.message}`);
  }
}

// choose opens an example.
export function choose(name) {
  const x = examples.value.find((e) => e.name === name);
  if (!x) return;
  put(x.files, x.open);
  example.value = name;
}

// put replaces all files.
export function put(all, first) {
  const checked = link.check({ files: all, open: first });
  if (isActive()) stop();
  batch(() => {
    files.value = checked.files;
    open.value = first && Object.hasOwn(checked.files, first) ? first : Object.hasOwn(checked.files, "main.conc") ? "main.conc" : checked.open;
    temporary.value = {};
    output.value = [];
    hostLines.value = [];
    stopped.value = null;
    notice.value = null;
    example.value = "";
    byHand.value = false;
    tab.value = "output";
    if (status.value.state !== "loading") set("ready", "ready");
  });
  changed();
}

// edit sets the text of a file.
export function edit(name, text) {
  if (files.value[name] === text) return;
  files.value = { ...files.value, [name]: text };
  notice.value = null;
  changed(name);
}

export function add(name) {
  const problem = link.nameProblem(name) || (Object.hasOwn(files.value, name) && "exists already") || (clashes(name) && "is also a directory");
  if (problem) throw new Error(`A file with the name ${JSON.stringify(name)} cannot be added: it ${problem}.`);
  files.value = { ...files.value, [name]: "" };
  open.value = name;
  changed();
}

const clashes = (name) => Object.keys(files.value).some((n) => n.startsWith(`${name}/`) || name.startsWith(`${n}/`));

export function remove(name) {
  const { [name]: _, ...rest } = files.value;
  if (Object.keys(rest).length === 0) return;
  files.value = rest;
  if (open.value === name) open.value = Object.keys(rest)[0];
  changed();
}

export function show(name, range) {
  open.value = name;
  if (range) focus.value = { ...range };
}

// apply applies the edits of a fix or of a completion, and puts the cursor after the first one.
export function apply(edits) {
  const by = new Map();
  for (const e of edits) by.set(e.file, [...(by.get(e.file) ?? []), e]);
  const next = { ...files.value };
  let cursor = null;
  for (const [name, all] of by) {
    let text = next[name] ?? "";
    const first = edits[0].file === name ? edits[0] : null;
    if (first) cursor = { name, at: first.start + first.text.length };
    for (const e of [...all].sort((a, b) => b.start - a.start)) {
      text = text.slice(0, e.start) + e.text + text.slice(e.end);
      if (first && e !== first && e.start <= first.start) cursor.at += e.text.length - (e.end - e.start);
    }
    next[name] = text;
  }
  files.value = next;
  if (cursor) show(cursor.name, { start: cursor.at });
  changed();
}

// changed sends the files to the analysis.
function changed(name) {
  graph.value = {};
  ir.value = {};
  if (status.value.state === "loading" || !engines?.analysis) return;
  if (name) {
    diagnose(engines.analysis.call("change", { name, text: files.value[name] }));
  } else {
    engines.analysis.call("put", files.value).catch(() => {});
    diagnose();
  }
  if (tab.value === "graph" || tab.value === "ir") later();
}

// diagnose shows the diagnostics that an edit has returned, or else all.
async function diagnose(edited) {
  const number = ++checking;
  try {
    const found = await (edited ?? engines.analysis.call("diagnostics"));
    if (number === checking) problems.value = found;
  } catch {
    // the worker of the analysis has died, and is replaced
  }
}

let timer;
function later() {
  clearTimeout(timer);
  timer = setTimeout(() => look(tab.value), 300); // after a pause in typing
}

// look computes what a tab shows.
export async function look(name) {
  tab.value = name;
  const at = { graph, ir }[name];
  if (!at || at.value.value || !engines?.analysis) return;
  const before = files.value;
  let found;
  try {
    found = { value: await engines.analysis.call(name, { name: open.value }) };
  } catch (e) {
    found = { error: e.message };
  }
  if (files.value === before) at.value = found;
}

export async function complete(offset, text) {
  if (!engines?.analysis || !Object.hasOwn(files.value, open.value)) return [];
  if (text !== undefined) edit(open.value, text);
  return engines.analysis.call("complete", { name: open.value, offset }).catch(() => []);
}

export async function describe(offset) {
  if (!engines?.analysis || !Object.hasOwn(files.value, open.value)) return "";
  return engines.analysis.call("hover", { name: open.value, offset }).catch(() => "");
}

export async function format() {
  const name = open.value;
  const text = await engines.analysis.call("format", { name }).catch(() => null);
  if (text === null) tell("This file cannot be formatted: it has syntax errors, or it is no program.");
  else edit(name, text);
}

// entry returns the path of the program, as workbench.Entry does.
function entry() {
  const names = Object.keys(files.value);
  if (names.includes("main.conc")) return "main.conc";
  if (names.includes("Concerto.toml")) return "";
  if (open.value.endsWith(".conc")) return open.value;
  return names.filter((n) => n.endsWith(".conc")).sort()[0] ?? "main.conc";
}

// run runs the program and returns a promise of {code, stdout, stderr, emits}.
export function run(step = false) {
  if (isActive()) return Promise.reject(new Error("a program is running"));
  if (!engines || status.value.state === "loading") return Promise.reject(new Error("the playground is not ready"));
  batch(() => {
    output.value = [];
    hostLines.value = [];
    asks.value = [];
    agents.value = [];
    played.value = [];
    temporary.value = {};
    stopped.value = null;
    notice.value = null;
    if (!["output", "host", "agent"].includes(tab.value)) tab.value = "output";
    stepwise.value = step;
    set("running", "running");
  });
  before = null;
  steps = 0;
  const done = new Promise((resolve) => (current = { resolve, stdout: "", stderr: "", emits: [] }));
  engines.run(byHand.value ? Object.fromEntries(Object.entries(files.value).filter(([name]) => !isRecording(name))) : files.value, { path: entry(), agents: mode.value, key: mode.value === "provider" ? key.value : "", step });
  return done;
}

export function stop() {
  engines?.stop();
}

// step stops a new run before its first line, or continues the current one to the next line. A step
// that the user requests before the run has stopped is made when it stops.
export function step() {
  if (!isActive()) run(true).catch(() => {});
  else if (stopped.value) next();
  else if (stepwise.value) steps++;
}

let steps = 0; // requested steps

function next() {
  stopped.value = null;
  set("running", "running");
  engines.step(false);
}

// proceed runs a stopped run to its end.
export function proceed() {
  if (!stopped.value) return;
  stopped.value = null;
  stepwise.value = false;
  set("running", "running");
  engines.step(true);
}

// Output is shown once per frame.
let fresh = [];
let frame = 0;
function print(kind, text) {
  fresh.push({ kind, text });
  frame ||= requestAnimationFrame(flush);
}

function flush() {
  cancelAnimationFrame(frame);
  frame = 0;
  if (fresh.length === 0) return;
  const all = [...output.value];
  for (const p of fresh) {
    const last = all.at(-1);
    if (last?.kind === p.kind && last.text.length < 10_000) all[all.length - 1] = { kind: p.kind, text: last.text + p.text };
    else all.push(p);
  }
  fresh = [];
  output.value = all;
}

const readiness = () => (asks.value.length || agents.value.length ? "waiting" : "running");

let before = null; // the tab that the user had selected before the page revealed another one

// reveal selects a tab in which the user is needed.
function reveal(name) {
  if (tab.value === name) return;
  before ??= tab.value;
  tab.value = name;
}

// receive handles an event of the run or of a worker.
function receive({ kind, data }) {
  switch (kind) {
    case "stdout":
    case "stderr":
    case "event":
      current[kind === "stdout" ? kind : "stderr"] += data;
      print(kind, data);
      break;
    case "emit":
      current.emits.push(data);
      break;
    case "notice":
      tell(data);
      break;
    case "cut":
      tell("The output was cut at 1 MiB.");
      break;
    case "host":
      hostLines.value = [...hostLines.value.slice(-999), data];
      if (data.dir === ">" && acknowledge.value && isPlayed(data) && isInit(data.line)) send(data.host, data.proc, '{"type":"init_ack"}').catch(() => {}); // the run may have ended
      break;
    case "host-start":
      played.value = [...played.value, data];
      reveal("host");
      break;
    case "host-end":
      played.value = played.value.filter((p) => p.host !== data.host || p.proc !== data.proc);
      break;
    case "ask":
      flush();
      asks.value = [...asks.value, data];
      reveal("output");
      set("waiting", "waiting for an answer");
      break;
    case "asked":
      asks.value = asks.value.filter((a) => a.number !== data);
      break;
    case "agent":
      agents.value = [...agents.value, data];
      reveal("agent");
      set("waiting", `waiting for the reply of agent ${data.agent}`);
      break;
    case "agent-done":
      agents.value = agents.value.filter((a) => a.number !== data);
      break;
    case "waiting":
      if (status.value.state === "running" && played.value.length > 0) set("waiting", `waiting for host ${played.value.at(-1).host}`);
      break;
    case "computing":
      if (status.value.state === "waiting") set(readiness(), status.value.text);
      if (status.value.state === "running") set("running", "running");
      break;
    case "at":
      flush();
      stopped.value = data;
      if (Object.hasOwn(files.value, data.file)) open.value = data.file;
      set("stepping", `stopped before line ${data.line}`);
      if (steps > 0) {
        steps--;
        next();
      }
      break;
    case "files":
      temporary.value = Object.fromEntries(Object.entries(data).filter(([name, text]) => files.value[name] !== text));
      break;
    case "end":
      finish(data, data === 0 ? "done" : "failed", data === 0 ? "done" : `failed with exit code ${data}`);
      break;
    case "stopped":
      finish(130, "stopped", "stopped");
      break;
    case "computed":
      tell(`The run was stopped: it computed for ${limits.computation / 1000} seconds without a pause.`);
      finish(130, "stopped", "stopped");
      break;
    case "died":
      tell(`The run ended unexpectedly: ${reason(data)}`);
      finish(1, "failed", "failed");
      break;
    case "analysis-died":
      restart(data);
      break;
  }
}

// reason returns the first line of what the runtime has written before it exited.
function reason(text) {
  const line = text.split("\n").find((l) => l.trim()) ?? text;
  return /out of memory/.test(text) ? "it needs more memory than the page has" : line;
}

let restarts = 0;
async function restart(why) {
  if (status.value.state === "loading" || ++restarts > 3) {
    tell(`The analysis of the program has ended: ${reason(why)}. Reload the page to start it again.`);
    return;
  }
  try {
    await engines.restartAnalysis();
    await engines.analysis.call("put", files.value);
    diagnose();
  } catch (e) {
    tell(`The analysis of the program has ended: ${e.message}`);
  }
}

function finish(code, state, text) {
  flush();
  const run = current;
  current = null;
  batch(() => {
    asks.value = [];
    agents.value = [];
    played.value = [];
    stopped.value = null;
    stepwise.value = false;
    set(state, text);
  });
  if (before !== null && ["host", "agent"].includes(tab.value)) tab.value = before;
  if (code === 2 && problems.value.length > 0 && state === "failed" && run.stdout === "") tab.value = "problems";
  run.resolve({ code, stdout: run.stdout, stderr: run.stderr, emits: run.emits });
}

const isPlayed = (line) => played.value.some((p) => p.host === line.host && p.proc === line.proc);

function isInit(line) {
  try {
    return JSON.parse(line).type === "init";
  } catch {
    return false;
  }
}

export function answer(number, value) {
  engines.answer(number, value);
}

// send sends a line of a host that the user plays.
export function send(host, proc, line) {
  return engines.host(host, proc, line);
}

// check returns what `concerto check --format json` prints, as a value.
export async function check() {
  await engines.analysis.call("put", files.value);
  return engines.analysis.call("check", { name: open.value });
}

export async function completeAt(name, offset) {
  await engines.analysis.call("put", files.value);
  return (await engines.analysis.call("complete", { name, offset })).map((x) => x.label);
}

export async function hoverAt(name, offset) {
  await engines.analysis.call("put", files.value);
  return engines.analysis.call("hover", { name, offset });
}

// address returns the link of the page's files. It is refused if the manifest contains a secret.
export async function address() {
  await engines.analysis.call("put", files.value);
  if (await engines.analysis.call("secret")) throw new Error("no link was created, because Concerto.toml contains a secret");
  const hash = await link.encode(files.value, open.value);
  return location.href.split("#")[0] + hash;
}

// share puts the link into the address and the clipboard.
export async function share() {
  try {
    const url = await address();
    history.replaceState(null, "", url);
    await navigator.clipboard?.writeText(url).catch(() => {});
    tell("The link is in the address of this page. It was copied, if your browser allows that.");
  } catch (e) {
    tell(e.message);
  }
}

// The theme is the only thing that the page stores.
function readTheme() {
  try {
    return localStorage.getItem("theme") ?? "";
  } catch {
    return "";
  }
}

export function setTheme(name) {
  theme.value = name;
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  try {
    if (name) localStorage.setItem("theme", name);
    else localStorage.removeItem("theme");
  } catch {
    // the page may not store anything
  }
}
