// The conversation of a run with a host or an agent, in the run's thread.
import { html, plain, useMemo, useState } from "parts/base.js";
import { granted, outcome } from "parts/approval.js";
import { count, duration } from "parts/format.js";
import { JsonTree } from "parts/jsontree.js";
import { Markdown } from "parts/markdown.js";
import { rowsOf, sentence } from "parts/talk.js";
import { Icon } from "./icons.js";
import { costOf } from "./words.js";

// took formats a duration in milliseconds.
export const took = (ms) => (ms == null ? "done" : ms < 1000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms));

export function Talk({ item }) {
  const { state, host, entries, error, duration_ms, outcomes } = item.data;
  const rows = useMemo(() => rowsOf(entries.map(message).filter((m) => m.type)), [item]);
  const open = state === "open";
  return html`<section class="talk" data-testid="talk" data-state=${state} aria-label=${`Conversation with ${plain(host)}`}>
    <p class="talk-head"><${Icon} name=${{ open: "busy", complete: "ok" }[state] ?? "bad"} spin=${open} /><bdi class="grow">${plain(host)}</bdi><span class="quiet nowrap">${open ? "working" : took(duration_ms)}</span></p>
    ${rows.map((row, i) => html`<${kinds[row.kind]} key=${i} row=${row} host=${host} outcome=${row.id && outcomes?.get(row.id)} open=${open} />`)}
    ${error && html`<p class="failed">${plain(error)}</p>`}</section>`;
}

// message converts an entry of a conversation to the form of parts/talk.js. A start without a prompt
// and an end are no messages.
const message = ({ phase, message_type, message_id, ts, ...rest }) =>
  ({ ...rest, type: { start: message_type, message: message_type || "message", reply: "answer" }[phase], id: message_id, ts: Date.parse(ts) });

// Fold shows its content, the result of fill, only while it is open.
function Fold({ kind, head, fill }) {
  const [open, set] = useState(false);
  return html`<details class=${`fold ${kind}`} data-testid=${kind} onToggle=${(e) => set(e.currentTarget.open)}><summary>${head}</summary>${open && html`<div>${fill()}</div>`}</details>`;
}

// Value shows a text as it is, and another value as JSON.
function Value({ name, value }) {
  if (value === undefined || value === null || value === "") return null;
  const text = typeof value === "string" ? value : Array.isArray(value) && value.length > 0 && value.every((b) => typeof b?.text === "string") ? value.map((b) => b.text).join("\n") : typeof value.command === "string" && Object.keys(value).every((k) => k === "command" || k === "description") ? value.command : null;
  return html`<p class="label">${name}</p>${text === null ? html`<${JsonTree} value=${value} />` : html`<pre>${plain(text)}</pre>`}`;
}

const Cut = ({ value }) => value?.$truncated && html`<p class="quiet">Only the first part of ${value.$truncated} bytes.</p>`;

const kinds = {
  prompt: ({ row }) => html`<div class="bubble" data-testid="prompt"><pre>${plain(row.text)}</pre><${Cut} value=${row.value} /></div>`,
  text: ({ row }) => html`<div class="said" data-testid="said"><${Markdown} text=${row.text} /></div>`,
  thought: ({ row, open }) => html`<${Fold} kind="thought" head=${html`<span class="quiet">${open && !row.ms ? "Thinking" : `Thought for ${row.ms < 1000 ? "a moment" : duration(row.ms)}`}</span>`} fill=${() => html`<${Markdown} text=${row.text} />`} />`,
  call: Call,
  progress: Progress,
  asks: Asks,
  failed: ({ row }) => html`<p class="failed">${plain(row.text)}</p>`,
  note: ({ row }) => html`<div class="note"><span class="label">${plain(row.title)}</span> ${row.text ? html`<${Markdown} text=${row.text} />` : html`<${JsonTree} value=${row.value} />`}</div>`,
  event: ({ row }) => html`<p class="event"><${Icon} name="gap" />${plain(row.title)}</p>`,
  facts: Facts,
};

function Call({ row, open }) {
  const state = row.state === "running" && !open ? "stopped" : row.state;
  return html`<${Fold} kind="call" fill=${() => html`<${Value} name="input" value=${row.input ?? row.about} /><${Value} name="output" value=${row.output} />`}
    head=${html`<${Icon} name=${{ running: "busy", done: "ok" }[state] ?? "bad"} spin=${state === "running"} /><span class="call-title">${plain(row.title)}</span><span class="grow clip quiet mono">${plain(row.about)}</span><span class="quiet nowrap">${state === "done" ? took(row.ms) : state}</span>`} />`;
}

function Progress({ row, host }) {
  const { all, percent } = row;
  return html`<${Fold} kind="progress" head=${html`<span class="grow">${plain(sentence(all.at(-1).value))}</span>
      ${percent !== undefined && html`<progress max="100" value=${percent} aria-label=${`Progress of ${plain(host)}`}>${percent} %</progress>`}<span class="quiet nowrap">${all.length > 1 && count(all.length, "message")}</span>`}
    fill=${() => html`<ol>${all.map((m, i) => html`<li key=${i}><${Markdown} text=${sentence(m.value)} /></li>`)}</ol>`} />`;
}

// Asks shows a question or a request for approval, and what was decided. If people were asked, the
// thread has the card.
function Asks({ row, outcome: how }) {
  if (how?.request) return null;
  const { value: v, answer, error } = row, all = v.questions?.length ? v.questions : [v];
  const result = how ? outcome({ ...how, by: how.by || how.actor }) : error ? error : answer === undefined ? "" : `answered ${typeof answer === "string" ? answer : JSON.stringify(answer)}`;
  const good = how ? granted(how) : !error && !/^(no|deny)$|"deny"/.test(answer?.decision ?? answer ?? "");
  return html`<div class="asked" data-testid="asked">${row.isOfCall ? null : row.title ? html`<p><b>${plain(row.title)}</b> <code>${plain(row.about)}</code></p>` : all.map((q, i) => html`<div key=${i}><${Markdown} text=${sentence(q.question ?? q)} />
        ${q.context && html`<p class="quiet">${plain(q.context)}</p>`}${q.options?.length > 0 && html`<ul>${q.options.map((o) => html`<li>${plain(o.label ?? o)}${o.description && html` <span class="quiet">${plain(o.description)}</span>`}</li>`)}</ul>`}</div>`)}
    ${result && html`<p class=${`event tone-${good ? "done" : "bad"}`}><${Icon} name=${good ? "ok" : "bad"} />${plain(result.replace(/^./, (c) => c.toUpperCase()))}${how?.reason && `: ${plain(how.reason)}`}</p>`}</div>`;
}

function Facts({ row }) {
  const { usage, cost, session, turns, all } = row, n = (x) => (x ?? 0).toLocaleString("en");
  const parts = [usage && `${n(usage.tokens_in)} tokens in, ${n(usage.tokens_out)} out`, cost && costOf(cost), turns && count(turns, "turn"), session && `session ${session}`];
  return html`<${Fold} kind="facts" head=${html`<span class="grow quiet">${plain(parts.filter(Boolean).join(" · ") || count(all.length, "further message"))}</span>`} fill=${() => html`<${JsonTree} value=${all.map((m) => ({ type: m.type, value: m.value }))} open=${3} />`} />`;
}
