import { html, bytes, classes, count, icon, moment, plain, until, useId, useLayoutEffect, useMemo, useRef, useState } from "./base.js";
import { Diff, maxOpen, maxRows, read } from "./diff.js";
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
  rejected: { icon: "alert", tone: "bad", open: true, text: (s) => s.error || "The machine rejected the answer. The request is open again." },
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

// ApprovalCard shows a request with everything that the user approves. A long body is cut until the
// user presses "Show all", and until then the request cannot be approved. It passes the decision to
// onDecide("approve"|"deny", {answers?, text?, scope?}). state is one of the names above, "open",
// or {state, by?, decision?, error?, errors?}. now is the server's time in milliseconds. may
// reports whether the user may decide. armed is the decision that Enter would confirm. typed
// {load(), save(states)} stores drafts as in useForm. nth numbers requests with the same text,
// for screen readers. lock is the reason why nothing can be decided here, if any. For half a second
// after the card appears, its arguments change or the page becomes visible, the card accepts no
// decision. Directly after the card has moved, it accepts no click.
export function ApprovalCard({ request: q, run, machine, now = Date.now(), may = true, lock = "", armed, onDecide, onOpen, typed, nth, state = "open" }) {
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
  const args = shownArgs(q, head, run?.cwd);
  const body = useBody(q, [...(prompt ? [prompt] : []), ...args.map(([, v]) => v)]);
  const unseen = unseenOf(q);
  const blocked = lock || (body.hides ? `Show all ${count(body.lines, "line")} first.` : unseen);
  const isBlocked = (decision) => lock || (blocked && decision === "approve");
  const decide = (decision) => (event) => {
    if (!open || !ready(event) || isBlocked(decision)) return;
    const extra = { ...(more.text && { text: more.text }), ...(more.scope !== "once" && decision === "approve" && { scope: more.scope }) };
    if (yesNo) return onDecide("approve", { ...extra, answers: { [yesNo.id]: decision === "approve" } });
    if (decision === "deny" || !q.questions?.length) return onDecide(decision, extra);
    const { answers } = form.check();
    if (answers) onDecide(decision, { ...extra, answers });
    else focusWrong(box.current);
  };
  const about = [head, firstLine(args[0]?.[1]), run?.title].filter(Boolean).join(", ") + (nth ? ` (${nth})` : "");
  const risk = Object.hasOwn(risks, q.risk ?? "") ? q.risk : null;
  const button = (of, label) => html`<${Button} of=${of} label=${label} about=${about} ready=${ready.now && !isBlocked(of)} armed=${armed} act=${decide(of)} why=${isBlocked(of) ? `${title}why` : null} />`;
  return html`<section class=${classes("approval", !open && "over")} ref=${box} data-testid="approval-card" data-state=${s.state} data-risk=${risk} aria-labelledby=${title} tabindex="-1">
    <div class="approval-head"><h2 id=${title}>${plain(head)}</h2>${risk && html`<span class=${`chip ${risks[risk]}`}>${icon(risk === "low" ? "shield" : "alert")}${risk} risk</span>`}</div>
    <${Who} q=${q} run=${run} machine=${machine} onOpen=${onOpen} />
    <div class=${classes("approval-body", !body.all && "cut")} ref=${body.box} onFocusIn=${body.show}><div>
    ${prompt && (yesNo || !(open && may && q.questions?.some((x) => x.question === prompt))) && html`<div class="approval-prompt">${q.questions?.length ? html`<${Markdown} text=${prompt} />` : plain(prompt)}</div>`}
    <${Args} shown=${args} />
    ${q.diff && html`<${Diff} text=${q.diff} all=${body.all} comments=${open && may && commentsOf(form)} />`}</div></div>
    ${body.hides && html`<button type="button" class="approval-all" data-testid="show-all" aria-label=${`Show all ${count(body.lines, "line")}: ${plain(head)}`} onClick=${body.show}>Show all ${count(body.lines, "line")}</button>`}
    ${q.redacted && html`<p class="approval-note" data-testid="redacted">Secrets are replaced by stars or [redacted].</p>`}
    ${open && may && !yesNo && html`<${Fields} form=${form} />`}
    ${open && q.approve_text && !q.questions?.length && html`<p class="approval-facts"><bdi>Approve types ${keystrokes(q.approve_text)}, Deny ${keystrokes(q.deny_text)}</bdi></p>`}
    <${Expiry} q=${q} now=${now} open=${open} />
    ${s.state !== "open" && html`<${State} s=${s} />`}
    ${open && may && html`<${More} q=${q} more=${more} set=${setMore} />
      <div class=${classes("approval-do", yesNo && "yes-no")}>${button("deny", yesNo ? "No" : q.questions?.length ? "Decline" : "Deny")}
        ${button("approve", yesNo ? "Yes" : q.questions?.length ? "Answer" : "Approve")}
        ${blocked && html`<span class="hint" id=${`${title}why`}>${blocked}</span>`}
        ${armed && html`<span class="hint" role="status">Press Enter to ${yesNo ? `say ${armed === "deny" ? "no" : "yes"}` : armed}, any other key to cancel.</span>`}</div>`}
    ${open && !may && html`<p class="approval-state muted">${icon("lock")}You are not allowed to decide this request.</p>`}
  </section>`;
}

// unseenOf returns why the request does not contain everything that an approval would cover; "" if
// it does. The machine refuses its approval, too.
function unseenOf({ op_args: args, diff }) {
  const what = args?.$truncated !== undefined ? `${bytes(args.$truncated)} of arguments` : args?.content_truncated === true && !diff ? "the content" : diff?.endsWith(cutNote) ? "the diff" : "";
  return what && `Only a part of ${what} was sent, so it cannot be approved here. Deny it, or decide on the machine of the run.`;
}

const cutNote = "\\ the rest of the diff is left out: it is longer than 64 KiB\n";

const firstLine = (value) => (typeof value === "string" ? plain(value.trim().split("\n")[0].slice(0, 80)) : "");

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

// useBody determines whether the card hides a part of a request: lines beyond the maximum height,
// and collapsed files. values are what the body shows beside the files. box is a ref to the element with the maximum height, and show shows
// everything. A request that has changed is cut again.
function useBody(q, values) {
  const box = useRef();
  const id = `${q.request_id} ${q.args_sha256 ?? ""} ${q.seq ?? ""}`;
  const [shown, setShown] = useState();
  const [cut, setCut] = useState(true);
  const all = shown === id;
  const files = useMemo(() => (q.diff ? read(q.diff) : []), [q.diff]);
  const lines = values.reduce((n, v) => n + textOf(v).split("\n").length, files.reduce((n, f) => n + f.rows.length, 0));
  useLayoutEffect(() => {
    const measure = () => setCut(box.current.scrollHeight > box.current.clientHeight + 1);
    const sizes = new ResizeObserver(measure);
    sizes.observe(box.current);
    sizes.observe(box.current.firstElementChild);
    measure();
    return () => sizes.disconnect();
  }, [id, all]);
  const hides = !all && (cut || files.length > maxOpen || files.some((f) => f.rows.length > maxRows));
  return { box, all, lines, hides, show: () => hides && setShown(id) };
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
export const headline = (q) => (!q.op_tool && q.questions?.length ? "A question" : q.prompt?.split("\n")[0] || "A decision is needed");

function Who({ q, run, machine, onOpen }) {
  const tool = run?.tool ?? q.tool, name = plain(run?.title || q.title || tool || q.run_id || "a run");
  const file = q.from?.file && ` · ${plain(q.from.file)}${q.from.line ? `:${q.from.line}` : ""}`;
  return html`<p class="approval-who"><bdi>${onOpen ? html`<button type="button" onClick=${onOpen}>${name}</button>` : name}</bdi>
    ${q.from?.host && html` · <bdi>${plain(q.from.host)}</bdi>`}${tool && tool !== name && ` · ${plain(tool)}`} on <bdi>${plain(machine?.name ?? machine?.id ?? q.host_id ?? "")}</bdi>${run?.cwd && html` · <code>${plain(run.cwd)}</code>`}${file}</p>`;
}

// untold contains the arguments whose names state nothing that their values do not.
const untold = ["command", "cmd"];

// shownArgs returns the arguments as [name, value], except those that the title, the diff or the line
// about the run shows.
function shownArgs({ op_args: args, diff }, head, cwd) {
  if (args === undefined || args === null) return [];
  const all = typeof args === "object" && !Array.isArray(args) ? Object.entries(args) : [["arguments", args]];
  return all.filter(([k, v]) => k !== "content_truncated" && !(diff && ["content_preview", "bytes"].includes(k)) && !(k === "path" && ["Read", "Write", "Edit"].some((verb) => head === `${verb} ${v}`)) && !(k === "in" && v === cwd));
}

// Args shows arguments: commands and long texts as blocks, short values in rows, and other values as
// JSON.
function Args({ shown }) {
  const short = shown.filter(([k, v]) => isShort(k, v));
  return html`${shown.filter(([k, v]) => !isShort(k, v)).map(([k, v]) => html`<${Arg} key=${k} name=${k} value=${v} />`)}
    ${short.length > 0 && html`<dl class="approval-short">${short.map(([k, v]) => html`<div key=${k}><dt>${plain(k)}</dt><dd><code>${k === "bytes" ? bytes(v) : plain(String(v))}</code></dd></div>`)}</dl>`}`;
}

const isShort = (k, v) => v === null || typeof v === "number" || typeof v === "boolean" || (typeof v === "string" && !untold.includes(k) && v.length <= 60 && !/\n/.test(v) && !turning.test(v));

// turning matches right-to-left letters, which change the order in which the text between them is
// displayed.
const turning = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

function Arg({ name, value }) {
  const text = textOf(value);
  return html`<div class="approval-arg">${!untold.includes(name) && html`<div class="name">${plain(name)}</div>`}
    <pre>${plain(text)}</pre>${turning.test(text) && html`<p class="approval-note">This text contains right-to-left letters. The order on the screen can differ from the real order.</p>`}</div>`;
}

function Expiry({ q, now, open }) {
  const expires = q.expires_ms ?? Date.parse(q.expires_at ?? "");
  if (!open || !Number.isFinite(expires)) return null;
  const left = until(expires, now);
  return html`<p class="approval-facts"><span class=${expires - now < soon ? "soon" : ""} title=${moment(expires)}>${icon("clock")}${left ? `expires in ${left}` : "expires now"}</span></p>`;
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
function Button({ of, label, about, ready, armed, act, why }) {
  return html`<button type="button" class=${classes(of === "approve" ? "primary" : "danger", armed === of && "armed")} data-testid=${of} aria-disabled=${String(!ready)} aria-label=${`${label}: ${plain(about)}`} aria-describedby=${why} onClick=${act}>${icon(of === "approve" ? "check" : "close")}${label}</button>`;
}
