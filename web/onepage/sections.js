// The sections of a report that show its items in another form: the conversations with agents and
// hosts, the output, and the source.
import { element } from "./nodes.js";
import { shown, title, took } from "./items.js";
import { link } from "./detail.js";
import { plain } from "parts/plain.js";

const step = 100; // number of entries that are shown at once
const columns = 28; // width of the numbers beside the source, in characters

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

// talk returns what an agent or a host was asked, and what followed, in order.
function talk(items, x) {
  const out = [entry(x, `${title(x)}: prompt`, shown(x.prompt))];
  const visit = (parent) => {
    for (const c of items.children.get(parent.n) ?? []) {
      if (c.kind === "agent" || c.kind === "exchange") continue; // has a conversation of its own
      if (c.kind === "model") out.push(entry(c, `${c.status === "ok" ? "reply" : c.status} of ${c.connection}/${c.model}`, shown(c.reply) || c.error));
      else if (c.kind === "tool" || c.kind === "mcp") out.push(entry(c, title(c), [shown(c.args), shown(c.result) || c.error].filter(Boolean).join("\n→ ")));
      else if (c.kind === "question" || c.kind === "approval") out.push(entry(c, `${c.kind}${c.actor ? `, answered by ${c.actor}` : ""}`, [shown(c.request), shown(c.answer)].filter(Boolean).join("\n→ ")));
      else if (c.kind === "message") out.push(entry(c, c.type, shown(c.text)));
      else if (["retry", "repair", "fallback"].includes(c.kind)) out.push(entry(c, c.kind, shown(c.text) || c.error));
      visit(c);
    }
  };
  visit(x);
  const end = x.kind === "exchange" ? x.result : x.reply;
  if (end !== undefined || x.error) out.push(entry(x, "result", shown(end) || x.error));
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
  const lines = items.all.filter((x) => x.kind === "print" || x.kind === "emit" || x.kind === "await");
  if (lines.length === 0) to.append(element("p", "The run printed and emitted nothing."));
  else list(to, lines, (x) => (x.kind === "print" ? entry(x, "print", shown(x.text)) : entry(x, `${x.kind} ${x.channel ?? x.name}`, shown(x.payload))));
}

export function source(to, { files, totals }) {
  if (files.length === 0) to.append(element("p", "The report has no source files."));
  const sums = new Map(totals.lines.map((t) => [t.at, t]));
  files.forEach((file, i) => to.append(fold(plain(file.name), (body) => {
    const pre = element("pre", undefined, { tabIndex: 0 });
    let quiet = "";
    file.text.split("\n").forEach((text, n) => {
      const sum = sums.get(`${file.name}:${n + 1}`);
      const note = sum ? [`${sum.calls}×`, took(sum.seconds), sum.cost_usd ? `$${sum.cost_usd}` : ""].filter(Boolean).join(" ") : "";
      const row = `${String(n + 1).padStart(5)}  ${note.padEnd(columns)}${plain(text)}\n`;
      if (!sum) {
        quiet += row;
        return;
      }
      pre.append(quiet, element("mark", row));
      quiet = "";
    });
    pre.append(quiet);
    body.append(pre);
  }, i === 0)));
}
