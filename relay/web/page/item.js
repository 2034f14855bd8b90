// The content of a thread's items.
import { Ansi, html, plain } from "parts/base.js";
import { granted, outcome } from "parts/approval.js";
import { JsonTree } from "parts/jsontree.js";
import { Diff } from "parts/diff.js";
import { Markdown } from "parts/markdown.js";
import { dropEntry, outboxText } from "./data/index.js";
import { Card } from "./card.js";
import { Icon } from "./icons.js";
import { lazy } from "./lazy.js";
import { Talk, took } from "./talk.js";

// kinds contains a function for each kind of item that renders the item.
const kinds = {
  started: ({ item }) => html`<p class="event"><${Icon} name="start" />started <code>${plain(item.text)}</code>${item.data?.cwd && html` in <code>${plain(item.data.cwd)}</code>`}</p>`,
  output: ({ item }) => html`<pre class=${"output" + (item.data?.stream === "stderr" ? " stderr" : "")}><${Ansi} text=${item.text} /></pre>`,
  input: ({ item }) => html`<div class="bubble"><p class="by">${plain(item.data?.by ?? item.data?.actor)}</p><pre>${shownInput(item.text)}</pre></div>`,
  sending: ({ item }) => html`<div class="bubble sending" data-testid="sending" data-state=${item.data.state}><pre>${shownInput(item.text)}</pre>
    <p class="by">${plain(outboxText(item.data))} <button type="button" onClick=${() => dropEntry(item.data.id)}>${item.data.done ? "Clear" : "Cancel"}</button></p></div>`,
  waiting: ({ item }) => html`<p class="event"><${Icon} name="wait" />waits for input${item.text ? ": " : ""}${plain(item.text)}</p>`,
  request: Request,
  decision: ({ item: { data: d } }) => verdict(granted(d), `${outcome({ ...d, by: d.by || d.actor }).replace(/^./, (c) => c.toUpperCase())}: ${d.title} ${d.line ?? ""}${d.reason ? ` (${d.reason})` : ""}`),
  emit: Emit,
  tool: Tool,
  listen: Talk,
  gap: ({ item }) => html`<p class="event gap" role="note"><${Icon} name=${item.icon ?? "ask"} />${plain(item.text)}</p>`,
  refused: lazy(() => import("./sealed.js"), "Refused"),
  exited: ({ item }) => verdict(item.data?.exit_code === 0, item.text),
  other: ({ item }) => html`<div class="event-data"><p class="label">${plain(item.title)}</p><${JsonTree} value=${item.data} /></div>`,
};

const verdict = (good, text) => html`<p class=${"event tone-" + (good ? "done" : "bad")}><${Icon} name=${good ? "ok" : "bad"} />${plain(text)}</p>`;

export function Item({ item, selected }) {
  const Kind = kinds[item.kind] ?? kinds.other;
  return html`<${Kind} item=${item} selected=${selected} />`;
}

// shownInput returns the text of an input without its final newline. Enter alone is shown as ⏎.
const shownInput = (text) => plain(text.replace(/[\r\n]$/, "")) || "⏎";

function Request({ item, selected }) {
  const q = item.data, r = q.resolution;
  if (!r) return html`<div class=${selected ? "request selected" : "request"} data-key=${q.key}><${Card} request=${q} /></div>`;
  const good = granted(r);
  return html`<details class="resolved" data-testid="resolved" data-decision=${r.decision}><summary><${Icon} name=${good ? "ok" : "bad"} /><span class="grow">${plain(item.title)} ${plain(q.op_args_summary || item.text || "")}</span>
      <span class=${"status tone-" + (good ? "done" : "bad")}>${outcome(r)}</span></summary>
    ${q.questions?.length ? html`<${Markdown} text=${item.text ?? ""} />` : html`<p>${plain(item.text)}</p>`}${r.reason && html`<p class="quiet">Reason: ${plain(r.reason)}</p>`}
    ${q.op_args !== undefined && html`<${JsonTree} value=${q.op_args} />`}${q.diff && html`<${Diff} text=${q.diff} />`}</details>`;
}

function Emit({ item }) {
  const { channel, payload } = item.data;
  if (channel === "host:gate" && payload?.gate) return verdict(payload.passed, `${payload.host}: ${payload.passed ? "" : "not "}proved by ${payload.gate} (turn ${payload.turn}) ${payload.error ?? ""}`);
  const [, step] = /^pipeline:(?:stage_)?(start|complete|error)$/.exec(channel) ?? [];
  if (step && payload?.name) return html`<p class="event"><${Icon} name=${step === "error" ? "bad" : "start"} />${plain(payload.name + (payload.stage ? `/${payload.stage}` : ""))} ${{ start: "starts", complete: "ends", error: "failed" }[step]}${step === "error" && payload.error && html`: ${plain(payload.error)}`}</p>`;
  if (item.data.text) return html`<p class="event"><${Icon} name="gap" />${plain(item.data.text)}</p>`;
  return html`<div class="event-data"><p class="label">${plain(item.title)}</p>${payload === null || typeof payload !== "object" ? html`<${Markdown} text=${String(payload)} />`
    : payload.$truncated ? html`<pre>${plain(payload.preview)}</pre><p class="quiet">Only the first part of ${payload.$truncated} bytes.</p>` : html`<${JsonTree} value=${payload} open=${2} />`}</div>`;
}

function Tool({ item }) {
  const t = item.data, state = t.state === "running" ? "running" : t.ok ? "done" : "failed";
  return html`<details class="tool"><summary><${Icon} name=${{ running: "busy", done: "ok", failed: "bad" }[state]} spin=${state === "running"} /><span class="mono">${plain(item.title)}</span>
      <span class="grow clip quiet">${plain(summary(t.args))}</span><span class="quiet nowrap">${state === "done" ? took(t.duration_ms) : state}</span></summary>
    ${t.error && html`<p class="failed">${plain(t.error)}</p>`}
    ${t.args !== undefined && html`<p class="label">arguments</p><${JsonTree} value=${t.args} />`}${t.result !== undefined && html`<p class="label">result</p><${JsonTree} value=${t.result} />`}</details>`;
}

const summary = (args) => (args == null ? "" : typeof args === "string" ? args : String(args.cmd ?? args.path ?? args.q ?? JSON.stringify(args)));
