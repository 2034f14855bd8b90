// The sections of a report that show its items in another form: the conversations with agents and
// hosts, the output, and the source.
import { element } from "./nodes.js";
import { shown, title, took } from "./items.js";
import { link } from "./detail.js";
import { plain } from "parts/plain.js";
import { rowsOf, sentence } from "parts/talk.js";
import { scan } from "parts/scan.js";

const step = 100; // number of entries that are shown at once
const runtime = /^(listen|host|merge|pipeline|tool):/; // channels of events that the program has not emitted
const columns = 20; // width of the sums before the numbers of the source, in characters

// folded contains for each <details> element the function that fills it.
const folded = new Map();

// fold returns a part that is filled when it is opened.
function fold(name, fill, isOpen) {
  const box = element("details"), body = element("div");
  box.append(element("summary", name), body);
  let isFilled = false;
  folded.set(box, () => {
    if (!isFilled) fill(body);
    isFilled = true;
  });
  box.addEventListener("toggle", () => box.open && folded.get(box)());
  if (isOpen) {
    folded.get(box)();
    box.open = true;
  }
  return box;
}

// unfold opens all parts. The result closes those that were closed.
export function unfold() {
  const closed = [...document.querySelectorAll("details")].filter((box) => !box.open);
  for (const box of closed) {
    folded.get(box)?.();
    box.open = true;
  }
  return () => closed.forEach((box) => {
    box.open = false;
  });
}

// list adds the first entries to an element, and a button that adds more.
function list(to, entries, show) {
  const body = element("ol");
  let next = 0;
  const more = element("button", "", { type: "button", onclick: () => add() });
  const add = () => {
    body.append(...entries.slice(next, next + step).map(show));
    next += step;
    more.textContent = `Show ${Math.min(step, entries.length - next)} of ${entries.length - next} more`;
    more.hidden = next >= entries.length;
  };
  add();
  to.append(body, more);
}

// entry returns an item with one of its texts.
function entry(x, what, text) {
  const out = element("li");
  out.append(link(x, what));
  if (text) out.append(element("pre", plain(text), { tabIndex: 0 }));
  return out;
}

// card returns an item with its text and what was decided about it.
function card(x, what, text, verdict) {
  const out = entry(x, what, text);
  if (verdict) out.append(element("p", plain(verdict), { className: "verdict" }));
  return out;
}

// bubble returns a text that somebody has written.
const bubble = (x, what, text) => {
  const out = entry(x, what);
  out.append(element("div", plain(text), { className: "bubble" }));
  return out;
};

// progress returns one line for the progress of an exchange, the last message. It opens to show the
// earlier ones.
function progress({ all, percent }) {
  const worded = (m) => sentence(m.value), out = element("li"), box = element("details"), head = element("summary", plain(worded(all.at(-1))));
  if (percent !== undefined) head.append(" ", element("progress", `${percent} %`, { max: 100, value: percent, ariaLabel: "progress" }));
  const list = element("ol");
  all.forEach((m) => list.append(entry(m.of, worded(m))));
  box.append(head, list);
  out.append(box);
  return out;
}

// question returns the text of a question with its context and its options.
function question(q) {
  if (typeof q !== "object" || !q) return shown(q);
  const options = (q.options ?? []).map((o) => `- ${shown(o.label ?? o)}${o.description ? `: ${o.description}` : ""}`);
  const all = [q.question, q.context, ...options, ...(q.questions ?? []).map(question)].filter(Boolean);
  return all.length > 0 ? all.join("\n") : shown(q);
}

// message converts an item to the form of parts/talk.js. Requests are shown with their views or
// answers, and so are the items of other kinds.
const message = (x, view) => ({ title: view?.title, line: view?.body, type: x.kind === "message" ? x.type : "other", value: x.text, percent: x.percent, ts: (x.start ?? 0) * 1000, of: x });

// shownRow returns a row of a conversation, or undefined if the report does not show it.
function shownRow(items, row) {
  const c = row.of, view = row.kind === "other" && items.report.views?.[c.n];
  if (view) return card(c, view.title, view.body, view.verdict);
  switch (row.kind) {
    case "text": return bubble(c, "text", row.text);
    case "thought": return entry(c, `thought for ${took(row.ms / 1000)}`, row.text);
    case "call": return card(c, [row.title, row.about].filter(Boolean).join(" "), shown(row.input), shown(row.output));
    case "progress": return progress(row);
    case "asks": return entry(c, c.type, question(row.value));
    case "event":
    case "note": return entry(c, row.title, row.text || shown(row.value));
    case "failed": return entry(c, "error", row.text);
    case "facts": return undefined; // the detail of the exchange and its messages has them
  }
  if (c.kind === "model") return c.status === "ok" ? bubble(c, `reply of ${c.connection}/${c.model}`, shown(c.reply?.text ?? c.reply)) : entry(c, `${c.status} of ${c.connection}/${c.model}`, c.error);
  if (c.kind === "tool" || c.kind === "mcp") return card(c, title(c), shown(c.args), shown(c.result) || c.error);
  if (c.kind === "question") return card(c, "question", question(c.request), c.answer === undefined ? "" : `Answered by ${c.actor ?? "the program"}: ${shown(c.answer)}`);
  if (c.kind === "approval") return card(c, `approval${c.actor ? `, answered by ${c.actor}` : ""}`, [shown(c.request), shown(c.answer)].filter(Boolean).join("\n→ "));
  return entry(c, c.kind, shown(c.text) || c.error); // retry, repair, fallback
}

const parts = new Set(["message", "model", "tool", "mcp", "question", "approval", "retry", "repair", "fallback"]); // kinds of the items of a conversation

// talk returns what an agent or a host was asked, and what followed, in order.
function talk(items, x) {
  const messages = [];
  const visit = (parent) => {
    for (const c of items.children.get(parent.n) ?? []) {
      if (c.kind === "agent" || c.kind === "exchange") continue; // has a conversation of its own
      if (parts.has(c.kind) || (c.kind === "await" && items.report.views?.[c.n])) messages.push(message(c, items.report.views?.[c.n]));
      visit(c);
    }
  };
  visit(x);
  const out = [bubble(x, x.kind === "exchange" ? "task" : "prompt", shown(x.prompt)), ...rowsOf(messages).map((row) => shownRow(items, row)).filter(Boolean)];
  const end = x.kind === "exchange" ? x.result?.text ?? x.result : x.reply;
  const isShown = shown(end) !== "" && out.some((part) => part.lastChild?.textContent === plain(shown(end)));
  if (!isShown && (end !== undefined || x.error)) out.push(bubble(x, x.error ? "failed" : "result", shown(end) || x.error));
  return out;
}

export function conversation(to, items) {
  const groups = new Map();
  for (const x of items.all) {
    if (x.kind !== "agent" && x.kind !== "exchange") continue;
    const name = x.kind === "agent" ? title(x) : `host ${x.host ?? x.name}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(x);
  }
  if (groups.size === 0) to.append(element("p", "The run asked no agents and no hosts."));
  let open = 20; // number of conversations that are shown at first
  for (const [name, calls] of groups) {
    const isOpen = calls.length <= open;
    if (isOpen) open -= calls.length;
    to.append(fold(`${plain(name)}: ${calls.length} ${calls.length === 1 ? "conversation" : "conversations"}`, (body) => list(body, calls, (x) => {
      const row = element("li"), parts = element("ol", undefined, { className: "talk" });
      parts.append(...talk(items, x));
      row.append(parts);
      return row;
    }), isOpen));
  }
}

export function output(to, items) {
  const all = items.all.filter((x) => x.kind === "print" || x.kind === "emit" || x.kind === "await");
  const own = all.filter((x) => !(x.kind === "emit" && runtime.test(x.channel ?? x.name)));
  if (all.length === 0) {
    to.append(element("p", "The run printed and emitted nothing."));
    return;
  }
  const body = element("div"), fill = (lines) => {
    body.replaceChildren();
    list(body, lines, (x) => (x.kind === "print" ? entry(x, "print", shown(x.text)) : entry(x, `${x.kind} ${x.channel ?? x.name}`, items.report.views?.[x.n]?.title ?? shown(x.payload))));
  };
  fill(own);
  if (own.length < all.length) {
    const label = element("label"), box = element("input", undefined, { type: "checkbox", onchange: () => fill(box.checked ? all : own) });
    label.append(box, ` Show ${all.length - own.length} events of the runtime`);
    to.append(label);
  }
  to.append(body);
}

export function source(to, { files, totals }) {
  if (files.length === 0) to.append(element("p", "The report has no source files."));
  const sums = new Map(totals.lines.map((t) => [t.at, t]));
  files.forEach((file, i) => to.append(fold(plain(file.name), (body) => {
    const pre = element("pre", undefined, { tabIndex: 0 });
    const colors = file.name.endsWith(".conc") ? scan(file.text) : [];
    let at = 0, next = 0; // offset of the line, and index of the first token that ends after it
    file.text.split("\n").forEach((text, n) => {
      const sum = sums.get(`${file.name}:${n + 1}`);
      const note = sum ? [`${sum.calls}×`, took(sum.seconds), sum.cost_usd ? `$${sum.cost_usd}` : ""].filter(Boolean).join(" ") : "";
      const row = sum ? element("mark") : pre, end = at + text.length;
      row.append(`${note.padStart(columns)} ${String(n + 1).padStart(5)}  `);
      while (next < colors.length && colors[next].start < end) {
        const t = colors[next];
        row.append(plain(file.text.slice(at, Math.max(at, t.start))), element("span", plain(file.text.slice(Math.max(at, t.start), Math.min(end, t.end))), { className: t.class }));
        at = Math.min(end, Math.max(at, t.end));
        if (t.end > end) break; // it continues on the next line
        next++;
      }
      row.append(`${plain(file.text.slice(at, end))}\n`);
      if (sum) pre.append(row);
      at = end + 1;
    });
    body.append(pre);
  }, i === 0)));
}
