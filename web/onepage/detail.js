// The details of the selected item.
import { element, excerpt } from "./nodes.js";
import { local, shown, texts, title, took, utc } from "./items.js";
import { plain } from "parts/plain.js";

const shownAbove = ["n", "kind", "name", "parent"]; // members that the heading and the rows above show
const most = 50; // number of links to children

// link returns a link to an item.
export function link(x, text = title(x)) {
  return element("a", plain(text), { href: `#item-${x.n}` });
}

// time returns a time of the run in seconds and in UTC, with the reader's own time as its title.
function time(s, started) {
  const out = element("span", took(s));
  if (started === null) return out;
  const ms = Date.parse(started) + 1000 * s;
  out.append(" (", element("time", utc(ms), { dateTime: new Date(ms).toISOString(), title: local(ms) }), ")");
  return out;
}

// value returns the content of a member.
function value(name, v, x, started) {
  if (name === "start" || name === "end") return time(v, started);
  if (name === "wait") return took(v);
  if (texts.includes(name)) return element("pre", plain(typeof v === "string" ? v : JSON.stringify(v, null, 2)), { tabIndex: 0 });
  return plain(shown(v));
}

// detail returns elements that show all members of an item, its source, and the items around it.
export function detail(items, x) {
  const { report } = items, out = [element("h3", `Item ${x.n}: ${plain(title(x))}`)];
  const view = report.views?.[x.n];
  if (view) {
    out.push(element("h4", plain(view.title)));
    if (view.body) out.push(element("pre", plain(view.body), { tabIndex: 0 }));
    if (view.verdict) out.push(element("p", plain(view.verdict), { className: "verdict" }));
  }
  const cell = (...content) => {
    const dd = element("dd");
    dd.append(...content);
    return dd;
  };
  const list = element("dl"), row = (name, ...content) => list.append(element("dt", name), cell(...content));
  const parent = items.parent(x), cause = items.cause(x), children = items.children.get(x.n) ?? [];
  if (parent) row("Parent", link(parent));
  if (cause) row("Cause", link(cause));
  if (children.length > 0) {
    const links = children.slice(0, most).flatMap((c) => [link(c), " "]);
    row("Children", ...links, children.length > most ? `and ${children.length - most} more` : "");
  }
  const i = items.decisions.get(x.n);
  if (i !== undefined) {
    const d = report.decisions[i];
    const text = `${view?.verdict ? "decided" : plain(shown(d.answer ?? x.status))} (${`${d.actor.type} ${d.actor.name}`.trim() || "no one"})`;
    row("Answer", document.getElementById(`decision-${i + 1}`) ? element("a", text, { href: `#decision-${i + 1}` }) : text, d.source ? ` at ${d.source}` : "");
  }
  if (x.last?.length > 0) row("Messages before", ...x.last.flatMap((n) => [link(items.get(n), `${n}`), " "]));
  const stored = element("dl"); // what the view shows in another form
  for (const [name, v] of Object.entries(x)) {
    if (view && (name === "request" || name === "answer")) stored.append(element("dt", name), cell(value(name, v, x, report.run.started)));
    else if (name === "cut") row("cut", Object.entries(v).map(([member, n]) => `${member}: ${n} bytes originally`).join(", "));
    else if (name !== "last" && v !== null && !shownAbove.includes(name)) row(name, value(name, v, x, report.run.started));
  }
  out.push(list);
  if (stored.children.length > 0) {
    const box = element("details");
    box.append(element("summary", "As stored"), stored);
    out.push(box);
  }
  const source = excerpt(report.files, x.at);
  if (source) out.push(element("h4", "Source"), source);
  return out;
}
