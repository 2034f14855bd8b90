import { html, bytes, classes, count, icon, moment, plain, until, useId, useRef, useState } from "./base.js";
import { Diff } from "./diff.js";
import { Fields, focusWrong, useForm } from "./form.js";
import { useGuard } from "./guard.js";
import { Markdown } from "./markdown.js";

const soon = 60_000; // milliseconds; if a request expires within this time, the card highlights that

// states maps a request's states, other than open, to their texts.
const states = {
  deciding: { icon: "refresh", tone: "muted", text: () => "Sending the decision …" },
  "waiting-to-send": { icon: "wait", tone: "warn", text: (s) => `Waiting to send: ${s.decision ?? "the decision"}. It is sent when the connection is back.` },
  applied: { icon: "check", tone: "good", text: (s) => `${outcome(s)}.`.replace(/^./, (c) => c.toUpperCase()) },
  "decided-by-other": { icon: "person", tone: "muted", text: (s) => `Already decided: ${outcome(s)}.` },
  "args-changed": { icon: "alert", tone: "warn", open: true, text: () => "The request has changed since you decided, so nothing was approved. Review it again." },
  expired: { icon: "clock", tone: "muted", text: () => "Expired without a decision." },
  withdrawn: { icon: "close", tone: "muted", text: () => "Withdrawn by the run." },
  rejected: { icon: "alert", tone: "bad", open: true, text: (s) => s.error || "The host rejected the answer. The request is open again." },
  unknown: { icon: "ask", tone: "warn", text: (s) => s.error || "It is unknown whether this took effect. Check the run." },
};

const past = { __proto__: null, approve: "approved", deny: "denied", answer: "answered" };

// outcome returns the outcome of a request: the decision, the value of an answer, and the user.
export function outcome({ decision, answer, by }) {
  const value = answer === undefined ? "" : ` ${plain(JSON.stringify(answer))}`;
  return `${past[decision] ?? plain(decision ?? "closed")}${value}${by ? ` by ${plain(by)}` : ""}`;
}

// granted reports whether a request was approved or answered.
export const granted = ({ decision }) => /^a(pprove|nswer)/.test(decision);

// ApprovalCard shows a request with everything that the user approves. It passes the decision to
// onDecide("approve"|"deny", {answers?, text?, scope?}). state is one of the names above, "open",
// or {state, by?, decision?, error?, errors?}. now is the server's time in milliseconds. may
// reports whether the user may decide. armed is the decision that Enter would confirm. typed
// {load(), save(states)} stores drafts as in useForm. For half a second after the card appears, its
// arguments change or the page becomes visible, the card accepts no decision. Directly after the
// card has moved, it accepts no click.
export function ApprovalCard({ request: q, run, host, now = Date.now(), may = true, armed, onDecide, onOpen, typed, state = "open" }) {
  const s = typeof state === "string" ? { state } : state;
  const open = s.state === "open" || states[s.state]?.open;
  const box = useRef();
  const ready = useGuard(box, `${q.request_id} ${q.args_sha256 ?? ""} ${open}`);
  const form = useForm(q.questions ?? [], s.errors, typed);
  const [more, setMore] = useState({ text: "", scope: "once" });
  const title = useId();
  const yesNo = q.questions?.length === 1 && q.questions[0].kind === "confirm" && q.questions[0];
  const head = headline(q);
  const whole = (yesNo && yesNo.question) || q.prompt;
  const prompt = whole?.startsWith(head) ? whole.slice(head.length).trim() : whole;
  const decide = (decision) => (event) => {
    if (!open || !ready(event)) return;
    const extra = { ...(more.text && { text: more.text }), ...(more.scope !== "once" && decision === "approve" && { scope: more.scope }) };
    if (yesNo) return onDecide("approve", { ...extra, answers: { [yesNo.id]: decision === "approve" } });
    if (decision === "deny" || !q.questions?.length) return onDecide(decision, extra);
    const { answers } = form.check();
    if (answers) onDecide(decision, { ...extra, answers });
    else focusWrong(box.current);
  };
  const risk = Object.hasOwn(risks, q.risk ?? "") ? q.risk : null;
  return html`<section class=${classes("approval", !open && "over")} ref=${box} data-testid="approval-card" data-state=${s.state} data-risk=${risk} aria-labelledby=${title} tabindex="-1">
    <div class="approval-head"><h3 id=${title}>${plain(head)}</h3>${risk && html`<span class=${`chip ${risks[risk]}`}>${icon(risk === "low" ? "shield" : "alert")}${risk} risk</span>`}</div>
    <${Who} q=${q} run=${run} host=${host} onOpen=${onOpen} />
    ${prompt && (yesNo || !(open && may && q.questions?.some((x) => x.question === prompt))) && html`<div class="approval-prompt">${q.questions?.length ? html`<${Markdown} text=${prompt} />` : plain(prompt)}</div>`}
    <${Args} args=${q.op_args} diff=${q.diff} />
    ${q.diff && html`<${Diff} text=${q.diff} label="What changes" comments=${open && may && commentsOf(form)} />`}
    ${q.redacted && html`<p class="approval-note" data-testid="redacted">Secrets are replaced by stars or [redacted].</p>`}
    ${open && may && !yesNo && html`<${Fields} form=${form} />`}
    ${open && q.approve_text && !q.questions?.length && html`<p class="approval-facts">Approve types ${keystrokes(q.approve_text)}, Deny ${keystrokes(q.deny_text)}</p>`}
    <${Facts} q=${q} now=${now} open=${open} />
    ${s.state !== "open" && html`<${State} s=${s} />`}
    ${open && may && html`<${More} q=${q} more=${more} set=${setMore} />
      <div class=${classes("approval-do", yesNo && "yes-no")}><${Button} of="deny" label=${yesNo ? "No" : q.questions?.length ? "Decline" : "Deny"} ready=${ready.now} armed=${armed} act=${decide("deny")} />
        <${Button} of="approve" label=${yesNo ? "Yes" : q.questions?.length ? "Answer" : "Approve"} ready=${ready.now} armed=${armed} act=${decide("approve")} />
        ${armed && html`<span class="hint" role="status">Press Enter to ${yesNo ? `say ${armed === "deny" ? "no" : "yes"}` : armed}, any other key to cancel.</span>`}</div>`}
    ${open && !may && html`<p class="approval-state muted">${icon("lock")}You are not allowed to decide this request.</p>`}
  </section>`;
}

// commentsOf returns the comments of a review, {all, set(all)}, if the form has a list of comments
// and the user has entered nothing else there.
function commentsOf(form) {
  if (!form.questions.some((x) => x.id === "comments" && x.schema?.type === "array")) return;
  try {
    const all = JSON.parse(form.states.comments || "[]");
    return Array.isArray(all) && { all, set: (next) => form.set("comments", JSON.stringify(next, null, 2)) };
  } catch {}
}

const risks = { low: "good", medium: "warn", high: "bad" };

const keystrokes = (text) => html`<code>${plain((text ?? "").replace(/[\r\n]/g, "⏎"))}</code>`;

// headline returns the request in one line: the first line of the prompt, unless it is a question.
const headline = (q) => (!q.op_tool && q.questions?.length ? "A question" : q.prompt?.split("\n")[0] || "A decision is needed");

function Who({ q, run, host, onOpen }) {
  const name = plain(run?.title || run?.tool || q.title || q.tool || q.run_id || "a run");
  const file = q.from?.file && ` · ${plain(q.from.file)}${q.from.line ? `:${q.from.line}` : ""}`;
  return html`<p class="approval-who">${onOpen ? html`<button type="button" onClick=${onOpen}>${name}</button>` : name}
    ${" · "}${plain(run?.tool ?? q.tool ?? "")} on ${plain(host?.name ?? host?.id ?? q.host_id ?? "")}${run?.cwd && html` · <code>${plain(run.cwd)}</code>`}${q.op_tool && html` · <code>${plain(q.op_tool)}</code>`}${file}</p>`;
}

// Args shows all arguments: strings as text, other values as JSON. It also shows what the host has
// shortened.
function Args({ args, diff }) {
  if (args === undefined || args === null) return null;
  const all = typeof args === "object" && !Array.isArray(args) ? Object.entries(args) : [["arguments", args]];
  const shown = all.filter(([k]) => k !== "content_truncated" && !(diff && k === "content_preview"));
  const short = shown.filter(([, v]) => isShort(v));
  return html`${shown.filter(([, v]) => !isShort(v)).map(([k, v]) => html`<${Arg} key=${k} name=${k} value=${v} />`)}
    ${short.length > 0 && html`<dl class="approval-short">${short.map(([k, v]) => html`<div key=${k}><dt><code>${plain(k)}</code></dt><dd><code>${k === "bytes" ? bytes(v) : String(v)}</code></dd></div>`)}</dl>`}
    ${args.content_truncated === true && html`<p class="approval-note">${diff ? "Only the first part is shown. The diff contains all changes." : "Only the first part of the file is shown."}</p>`}
    ${args.$truncated !== undefined && html`<p class="approval-note">Only a part of the ${bytes(args.$truncated)} is shown.</p>`}`;
}

const isShort = (v) => v === null || typeof v === "number" || typeof v === "boolean";

// turning matches right-to-left letters, which change the order in which the text between them is
// displayed.
const turning = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

function Arg({ name, value }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const lines = text.split("\n").length;
  const long = lines > 14 && { tabindex: 0, role: "region", "aria-label": plain(name) };
  return html`<div class="approval-arg"><div class="name"><code>${plain(name)}</code>${long && html`<span>${count(lines, "line")}, ${bytes(new TextEncoder().encode(text).length)}: scroll to read all</span>`}</div>
    <pre ...${long}>${plain(text)}</pre>${turning.test(text) && html`<p class="approval-note">This text contains right-to-left letters. The order on the screen can differ from the real order.</p>`}</div>`;
}

function Facts({ q, now, open }) {
  const expires = q.expires_ms ?? Date.parse(q.expires_at ?? "");
  const left = until(expires, now);
  const late = open && Number.isFinite(expires) && expires - now < soon;
  if (!q.args_sha256 && !Number.isFinite(expires)) return null;
  return html`<div class="approval-facts">
    ${q.args_sha256 && html`<span title=${q.args_sha256}>${icon("shield")}fingerprint <code>${q.args_sha256.slice(0, 8)}</code></span>`}
    ${open && Number.isFinite(expires) && html`<span class=${late ? "soon" : ""} title=${moment(expires)}>${icon("clock")}${left ? `expires in ${left}` : "expires now"}</span>`}</div>`;
}

function State({ s }) {
  const info = states[s.state];
  if (!info) return html`<p class="approval-state muted">${plain(s.state)}</p>`;
  return html`<p class=${`approval-state ${info.tone}`} role="status">${icon(info.icon)}<span>${plain(info.text(s))}</span></p>`;
}

// More lets the user enter a reason and choose how long an approval is valid.
function More({ q, more, set }) {
  const session = q.op_tool && q.args_sha256;
  return html`<details class="approval-more"><summary>${session ? "Reason and duration" : "Add a reason"}</summary>
    <label class="why">Reason<input type="text" value=${more.text} onInput=${(e) => set({ ...more, text: e.target.value })} /></label>
    ${session && html`<label><input type="checkbox" checked=${more.scope === "session"} onChange=${(e) => set({ ...more, scope: e.target.checked ? "session" : "once" })} />Approve the same request for the rest of the run</label>`}</details>`;
}

// Button is the approve or the deny button. It shows when Enter would press it, without a change of
// its position.
function Button({ of, label, ready, armed, act }) {
  return html`<button type="button" class=${classes(of === "approve" ? "primary" : "danger", armed === of && "armed")} data-testid=${of} aria-disabled=${String(!ready)} onClick=${act}>${icon(of === "approve" ? "check" : "close")}${label}</button>`;
}
