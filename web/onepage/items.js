// The items of a report: lanes, search, texts, and links between items.
import { sentence } from "parts/talk.js";

// texts are the members of an item that contain what the program, a model or a host wrote.
export const texts = ["error", "prompt", "request", "reply", "args", "result", "payload", "answer", "text", "message"];

const named = ["kind", "name", "status", "at", "type", "channel", "actor", "model", "connection", "error_kind"]; // members that a search for words reads
const host = new Set(["exchange", "message", "question", "approval"]);
const agent = new Set(["agent", "model", "retry", "repair", "fallback"]);

// shown returns a value as text: a string without quotes, another value as JSON.
export function shown(v) {
  return v === undefined || v === null ? "" : typeof v === "string" ? v : JSON.stringify(v);
}

// line returns a text on one line of at most most characters.
export function line(text, most = 200) {
  const s = text.slice(0, 2 * most).replace(/\s+/g, " ").trim();
  return s.length > most || text.length > 2 * most ? `${s.slice(0, most)}…` : s;
}

// title returns kind and name of an item.
export function title(x) {
  return x.name && x.name !== x.kind ? `${x.kind} ${x.name}` : x.kind;
}

// Items is the list of the items of a report. Item n is all[n - 1].
export class Items {
  constructor(report) {
    this.report = report;
    this.all = report.items;
    this.timed = this.all.some((x) => x.start !== null);
    this.children = new Map();
    this.tasks = new Map(); // names of the functions of tasks
    for (const x of this.all) {
      if (x.parent === null) continue;
      const list = this.children.get(x.parent);
      if (list) list.push(x);
      else this.children.set(x.parent, [x]);
    }
    for (const x of this.all) if ((x.kind === "run" || x.kind === "task") && !this.tasks.has(x.task)) this.tasks.set(x.task, x.name);
    this.decisions = new Map(report.decisions.map((d, i) => [d.item, i]));
    this.words = new Map(); // lower-case text of each item that was searched
  }

  get(n) {
    return this.all[n - 1];
  }

  parent(x) {
    return x.parent === null ? undefined : this.get(x.parent);
  }

  // cause returns the message, question or approval whose handler did what the item describes.
  cause(x) {
    for (let p = this.parent(x); p; p = this.parent(p)) {
      if (host.has(p.kind) && p.kind !== "exchange") return p;
      if (p.kind === "task" || p.kind === "exchange") return undefined;
    }
    return undefined;
  }

  // lane returns the name of the lane of an item in the timeline.
  lane(x) {
    const queue = x.queue ?? (/^merge:/.test(x.channel) ? x.payload?.queue : undefined);
    if (x.workspace || queue) return x.workspace ? `workspace ${x.workspace}` : `queue ${queue}`;
    if (agent.has(x.kind)) return `agent ${x.name}`;
    if (host.has(x.kind)) return `host ${x.host ?? x.name}`;
    if (x.kind === "tool" || x.kind === "mcp" || x.kind === "pipeline") return title(x);
    if (x.kind === "stage") return `pipeline ${x.name.split("/")[0]}`;
    return `task ${x.task} ${this.tasks.get(x.task) ?? ""}`.trim();
  }

  // begins and ends return the position of an item in the timeline: seconds, or its number if the
  // report has no times. An open item ends with the run.
  begins(x) {
    return this.timed ? x.start ?? 0 : x.n - 1;
  }

  ends(x) {
    return this.timed ? x.end ?? this.report.run.seconds ?? x.start ?? 0 : x.n;
  }

  // summary returns the text of an item for a table.
  summary(x) {
    const view = this.report.views?.[x.n];
    if (view) return line([view.title, view.body, view.verdict].filter(Boolean).join(" · "));
    for (const name of ["error", "text", "message", "reply", "result", "answer", "prompt", "payload", "request", "args"]) {
      const s = sentence(x[name]);
      if (s !== "") return line(s);
    }
    return "";
  }

  text(x) {
    let s = this.words.get(x.n);
    if (s === undefined) {
      s = [...named, ...texts].map((name) => shown(x[name])).join("\n").toLowerCase();
      this.words.set(x.n, s);
    }
    return s;
  }

  // has reports whether an item or one that caused it is of an agent or a host.
  has(x, kinds, name) {
    for (let p = x; p; p = this.parent(p)) if (kinds.has(p.kind) && (kinds === agent ? p.name : p.host ?? p.name).toLowerCase() === name) return true;
    return false;
  }

  // find returns the items that a query describes: words, kind:KIND, status:STATUS, agent:NAME and
  // host:NAME, all of which must match.
  find(query) {
    const tests = query.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
      const [, key, value] = word.match(/^(kind|status|agent|host):(.*)$/) ?? [];
      if (key === "status" && value === "failed") return (x) => x.status === value || this.report.views?.[x.n]?.verdict.startsWith("Denied");
      if (key === "kind" || key === "status") return (x) => x[key] === value;
      if (key) return (x) => this.has(x, key === "agent" ? agent : host, value);
      return (x) => this.text(x).includes(word);
    });
    return tests.length === 0 ? this.all : this.all.filter((x) => tests.every((t) => t(x)));
  }
}

// took formats seconds.
export function took(s) {
  if (s === null || s === undefined) return "";
  return s < 1 ? `${Math.round(s * 1e6) / 1e3} ms` : `${s.toFixed(3)} s`;
}

// utc formats a time in UTC; local in the reader's time zone.
export function utc(ms) {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC");
}

export function local(ms) {
  return new Date(ms).toLocaleString();
}
