// The history: who decided what, the newest first, as the server has stored it.
import { html, plain, useEffect, useState } from "parts/base.js";
import { granted, headline, outcome } from "parts/approval.js";
import { api, conn, devices, loadSeal, onEvent, runs } from "./data/index.js";
import { Icon } from "./icons.js";
import { Loaded, failure, useDo, useLoad } from "./load.js";
import { go, hrefOf } from "./route.js";
import { Head } from "./shell.js";
import { When } from "./when.js";
import { MachineFilter } from "./words.js";

const decisions = { "": "all decisions", approve: "approved", deny: "denied", answer: "answered", expired: "expired", withdrawn: "withdrawn" };

// useDecisions loads the newest decisions that a query selects, and again after each decision while
// live is set.
export function useDecisions(query, live = true) {
  const load = useLoad(() => loadDecisions(query), [query]);
  const [tick, setTick] = useState(0);
  useEffect(() => onEvent((e, ended) => (ended || /^run\.(decision|exited)$/.test(e.type)) && setTick((n) => n + 1)), []);
  useEffect(() => { if (live && conn.value.state === "online") load.reload(); }, [tick, conn.value.state]);
  return load;
}

// loadDecisions loads a page of decisions. A browser with a device opens those of sealed runs, and
// selects by what only it can read.
async function loadDecisions(query) {
  const asked = new URLSearchParams(query), wanted = {};
  if (!devices.value?.length) return api.get("/decisions?" + asked);
  for (const name of ["decision", "by"]) {
    wanted[name] = asked.get(name);
    asked.delete(name);
  }
  const page = await api.get("/decisions?" + asked), all = await Promise.all(page.decisions.map(opened));
  return { ...page, decisions: all.filter((d) => Object.entries(wanted).every(([name, v]) => !v || d[name] === v)) };
}

// opened completes a decision of a sealed run.
async function opened(d) {
  if (!d.sealed) return d;
  const { open } = await loadSeal(), events = (await Promise.all(d.sealed.map(open))).filter((e) => !e.enc);
  const q = events.find((e) => e.type === "run.permission_requested")?.data;
  const input = events.find((e) => e.type === "run.input")?.data, end = events.find((e) => e.type === "run.permission_resolved")?.data ?? (input && { ...input, decision: "answer" });
  if (!q) return d;
  const { op_args: args, questions = [] } = q;
  return { ...d, title: headline(q), line: questions.length && !q.op_tool ? q.prompt : args?.command ?? args?.cmd, ...(end && { decision: end.decision, by: end.by, actor: end.actor, reason: end.reason, answer: end.answer === undefined ? undefined : JSON.stringify(end.answer) }) };
}

// filters contains the names of the filters in the address and of the server's parameters.
const filters = ["run", "host", "decision", "by"];

export function History({ query }) {
  const set = Object.fromEntries(filters.map((name) => [name, query.get(name)]).filter(([, v]) => v));
  const key = new URLSearchParams(set).toString();
  const [loaded, setLoaded] = useState({});
  const older = loaded.key === key ? loaded : { rows: [] };
  const first = useDecisions(key, !older.rows.length);
  const next = older.next ?? first.value?.next;
  const [more, busy, failed] = useDo(async () => {
    const page = await loadDecisions(`${key}&before=${next}`);
    setLoaded({ key, rows: [...older.rows, ...page.decisions], next: page.next });
  });
  const choose = (name) => (e) => go(hrefOf("history", "", "", Object.fromEntries(Object.entries({ ...set, [name]: e.target.value.trim() }).filter(([, v]) => v))), { replace: true });
  return html`<${Head} title="History" />
    <div class="bar"><input type="search" class="grow" placeholder="Person or rule" aria-label="Person or rule" value=${set.by ?? ""} onChange=${choose("by")} />
      <select aria-label="Decision" value=${set.decision ?? ""} onChange=${choose("decision")}>${Object.entries(decisions).map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}</select>
      <${MachineFilter} value=${set.host} onChange=${choose("host")} />
      ${set.run && html`<button type="button" value="" onClick=${choose("run")}><${Icon} name="bad" />Only run ${plain(set.run)}</button>`}</div>
    <${Loaded} load=${first} what="the decisions">${(page) => html`<${Decisions} rows=${[...page.decisions, ...older.rows]} />
      ${page.decisions.length === 0 && html`<div class="empty"><p>No decisions${key && " match the filter"}.</p></div>`}`}</${Loaded}>
    ${failure(failed)}${next && html`<p><button type="button" aria-disabled=${busy} onClick=${more}>Show older decisions</button></p>`}`;
}

// Decisions lists decisions.
export function Decisions({ rows }) {
  return html`<ul class="rows decisions">${rows.map((d) => html`<${Row} key=${`${d.run_id} ${d.request_id ?? d.at}`} d=${d} />`)}</ul>`;
}

function Row({ d }) {
  const good = granted(d), answer = d.answer ? JSON.parse(d.answer) : undefined;
  return html`<li class="decision" data-testid="settled"><span class=${"tone-" + (good ? "done" : "bad")}><${Icon} name=${good ? "ok" : "bad"} /></span>
    <span class="what"><b dir="auto">${d.title ? plain(d.title) : "Encrypted: this page cannot show it."}</b>${d.line && html` <code>${plain(d.line)}</code>`}</span>
    <span class="how">${outcome({ ...d, answer, by: d.by || d.actor })}${d.reason && html`<span class="quiet">: ${plain(d.reason)}</span>`}</span>
    <span class="quiet where"><a href=${hrefOf("runs", d.run_id, "", d.request_id && { request: d.request_id })} dir="auto">${plain(d.run_title || runs.value.find((r) => r.id === d.run_id)?.title || d.run_id)}</a> <${When} ts=${d.at} /></span></li>`;
}
