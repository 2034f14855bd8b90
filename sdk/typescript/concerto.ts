// Run Concerto programs from an application and provide tools to them.
// One file, no dependencies, Node 22 or newer and browsers.
//
//   import { Concerto } from "./concerto.ts";
//
//   const c = await Concerto.stdio();
//   await c.tool({ name: "stock", description: "Pieces in stock",
//     parameters: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
//   }, async (input, ctx) => {
//     await ctx.progress(1, 2, "counting");
//     return 7;
//   });
//   const session = await c.run("main.conc", { inputs: { sku: "a1" } });
//   for await (const event of session) console.log(event.type, event);
//   console.log(await session.result());
//   await c.close();
//
// Concerto.stdio() starts `concerto serve` (not in browsers); Concerto.connect(url,
// token) connects to a running one: http(s) is HTTP with server-sent events, ws(s) is
// WebSocket. Both reconnect after a loss and then receive everything that the server
// still has. The names are those of the protocol, spec/22-serve.md.
//
// Node can strip all types and run this file directly, before version 23.6 with
// --experimental-strip-types. concerto.js is the same file without types.

declare const process: any;
declare const WebSocket: any;

const protocol = 1;
const mostEvents = 10_000; // stored for a session
const maxAnswerBytes = 8 << 20; // bytes of answers that may have to be sent again
const quiet = 20_000; // ms of silence before the client pings a WebSocket server

/** Any JSON value. */
export type Json = any;

// ---- Errors

/** The base class of all errors of this module. */
export class ConcertoError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The server refused a request. code is JSON-RPC's or the protocol's, such as -32010 for
 * a duplicate tool name; data is the server's additional data, or {}. */
export class RequestError extends ConcertoError {
  readonly code: number;
  readonly data: Record<string, Json>;
  constructor(message: string, code = -32603, data: Record<string, Json> = {}) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The server is not reachable, or no longer. */
export class ConnectionLost extends ConcertoError {}

/** A session ended without a result. */
export class SessionError extends ConcertoError {
  /** The kind of the program's error, "cancelled", "limit" (over its budget), "panic", or
   * "lost" if the server no longer knows the session. */
  readonly kind: string;
  /** Innermost first. */
  readonly trace: { function: string; file: string; line: number; column: number }[];
  constructor(kind: string, message: string, trace: Json[] = []) {
    super(message);
    this.kind = kind;
    this.trace = trace;
  }
}

/** A tool call failed. */
export class ToolError extends ConcertoError {
  /** failed, arguments, not_found, denied, timeout, cancelled, unavailable or limit. */
  readonly outcome: string;
  readonly metadata: Record<string, Json>;
  constructor(message: string, outcome = "failed", metadata: Record<string, Json> = {}) {
    super(message);
    this.outcome = outcome;
    this.metadata = metadata;
  }
}

class Cut extends Error {} // a connection has ended

function refusal(error: Json): RequestError {
  const data = typeof error?.data === "object" && error.data ? error.data : {};
  let message = String(error?.message ?? "the server refused");
  for (const d of Array.isArray(data.diagnostics) ? data.diagnostics : []) {
    const at = [d.file, d.line, d.column].filter((x) => x !== undefined).join(":");
    message += `\n${at}: ${d.severity}[${d.code}]: ${d.message}` + (d.hints ?? []).map((h: string) => `\n  hint: ${h}`).join("");
  }
  return new RequestError(message, error?.code, data);
}

function text(e: any): string {
  return String(e?.message || e?.name || e);
}

/** The reason why a connection failed or ended. */
function cause(e: any): string {
  return e?.cause?.errors?.[0]?.message ?? (e?.cause?.message || text(e));
}

// ---- Tools

/** The result of a tool. Any other return value of a handler is the output of a
 * successful call. */
export interface ToolResult {
  success: boolean;
  output?: Json;
  error?: string | null;
  metadata?: Record<string, Json>;
}

/** One call of a tool. */
export interface ToolContext {
  readonly session_id: string;
  readonly cwd: string;
  /** What the application passed for the session, not the environment of a process. */
  readonly environment: Record<string, string>;
  readonly metadata: Record<string, Json>;
  /** The same for each attempt: a key for actions that must happen once. */
  readonly call_id: string;
  readonly tool: string;
  readonly version: number;
  /** The caller. */
  readonly by: string;
  readonly route: "agent" | "host" | "dispatch" | "mcp" | "client" | "tool";
  /** Names of the enclosing calls. */
  readonly chain: string[];
  readonly timeout_s: number;
  /** Aborted when the result is no longer needed. */
  readonly cancelled: AbortSignal;
  /** Reports the progress of the call. */
  progress(progress: number, total?: number, message?: string): Promise<void>;
  /** Emits an event on a channel of the session. */
  emit(channel: string, payload?: Json): Promise<void>;
  /** Calls another tool and returns its output. Rejects with ToolError. */
  call(name: string, args?: Record<string, Json>): Promise<Json>;
}

/** Returns the output of a tool or a ToolResult; its exception is the tool's failure. */
export type Handler = (input: any, ctx: ToolContext) => unknown;

/** The definition of a tool. Times are in seconds. */
export interface ToolDefinition {
  name: string;
  description: string;
  /** The JSON Schema of an object; any object without it. */
  parameters?: Json;
  output?: Json;
  version?: number;
  scope?: "global" | "session";
  category?: string;
  requires_approval?: boolean;
  approval_timeout?: number;
  on_timeout?: "deny" | "allow" | "halt";
  timeout?: number;
  idle_timeout?: number;
  sequential?: boolean;
  max_concurrent?: number;
  requires?: string[];
}

export interface ToolOptions {
  /** Replaces a tool of this name. */
  replace?: boolean;
  /** Limits the tool to one session. */
  session?: Session | string;
}

interface Tool {
  definition: ToolDefinition;
  handler: Handler;
  session_id: string | undefined;
}

const resultKeys = ["success", "output", "error", "metadata"];

/** The wire form of a handler's return value. */
function result(value: any): ToolResult {
  const whole = typeof value?.success === "boolean" && Object.keys(value).every((k) => resultKeys.includes(k));
  const r: ToolResult = whole ? { ...value, output: value.output ?? null } : { success: true, output: value ?? null };
  if (r.error === undefined || r.error === null) delete r.error;
  else r.error = String(r.error);
  return r;
}

function failure(name: string, e: any): ToolResult {
  if (e instanceof ToolError) return { success: false, output: null, error: e.message, metadata: e.metadata };
  console.error(`tool '${name}' failed:`, e);
  return { success: false, output: null, error: text(e) };
}

function key(name: string, version: number | undefined, session_id: string | undefined): string {
  return JSON.stringify([name, version ?? 1, session_id ?? null]);
}

// ---- Sessions

/** An event of a session; seq counts from 1 without gaps. The other members depend on the
 * type: state {state, result?, error?, usage?}, first and last; emit {channel, payload,
 * awaited?}; print {text}; log {level, message}; tool {phase, call_id, tool, by, route,
 * outcome?, duration_ms?}; gap {from, to}. */
export interface Event {
  session_id: string;
  seq: number;
  ts: string;
  type: "state" | "emit" | "print" | "log" | "tool" | "gap";
  [member: string]: Json;
}

/** A run of a program. `for await (const event of session)` yields its events from the
 * first to the last, which has type "state". It keeps the last 10,000 events; an event
 * of type "gap" replaces older ones. */
export class Session implements AsyncIterable<Event> {
  readonly id: string;
  state: "running" | "done" | "failed" | "cancelled" = "running";
  /** Of models, after the end. */
  usage: Json = null;
  /** The number of the last received event. */
  cursor = 0;
  /** @internal */
  claimed = false;
  private readonly client: Concerto;
  private events: Event[] = [];
  private end: Event | null = null;
  private lost: Error | null = null;
  private wake: () => void = () => {};
  private changed: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(client: Concerto, id: string) {
    this.client = client;
    this.id = id;
    this.change();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Event> {
    for (let seq = 0; ; ) {
      const changed = this.changed;
      const first = this.events[0];
      if (first && first.type !== "gap" && first.seq > seq + 1) {
        yield { session_id: this.id, seq: first.seq - 1, ts: first.ts, type: "gap", from: seq + 1, to: first.seq - 1 };
        seq = first.seq - 1;
      }
      for (const e of this.events.slice(this.after(seq))) {
        seq = e.seq;
        yield e;
      }
      if (seq < this.cursor) continue;
      if (this.end) return;
      if (this.lost) throw this.lost;
      await changed;
    }
  }

  /** Waits for the end and returns the result of `main`. Rejects with SessionError, or
   * ConnectionLost if the server no longer answers. */
  async result(): Promise<Json> {
    while (!this.end) {
      if (this.lost) throw this.lost;
      await this.changed;
    }
    if (this.state === "done") return this.end.result ?? null;
    const e = this.end.error ?? {};
    throw new SessionError(e.kind ?? this.state, e.message ?? `the session is ${this.state}`, e.trace);
  }

  /** Stops the session as Ctrl-C does, and waits until it has ended. No effect on an
   * ended session. */
  async cancel(reason?: string): Promise<void> {
    await this.client.request("sessions/cancel", { session_id: this.id, reason });
  }

  /** The index of the first stored event after a number. */
  private after(seq: number): number {
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.events[middle] as Event).seq <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @internal */
  add(e: Event): void {
    const seq = e.type === "gap" ? e.to : e.seq;
    if (!(seq > this.cursor) || this.end) return; // a duplicate
    this.cursor = seq;
    this.events.push({ ...e, seq });
    if (this.events.length > 2 * mostEvents) this.events = this.events.slice(-mostEvents);
    if (e.type === "state" && e.state !== "running") {
      this.end = e;
      this.state = e.state;
      this.usage = e.usage ?? null;
      this.client.finished(this);
    }
    this.change();
  }

  /** @internal */
  lose(why: Error): void {
    if (this.end || this.lost) return;
    this.lost = why;
    this.change();
  }

  /** @internal */
  hasEnded(): boolean {
    return this.end !== null;
  }

  private change(): void {
    this.wake();
    this.changed = new Promise((resolve) => (this.wake = resolve));
  }
}

export interface RunOptions {
  /** The result of std::app's inputs(). */
  inputs?: Record<string, Json>;
  args?: string[];
  cwd?: string;
  environment?: Record<string, string>;
  /** Visible to std::app's session() and to tools. */
  metadata?: Record<string, Json>;
  budget?: { max_run_seconds?: number; max_tokens?: number; max_cost_usd?: number; max_tool_calls?: number };
  /** The application's tools for the session: all, none, or the named ones. */
  tools?: boolean | string[];
  /** Seconds for which the session continues without this client; null: forever. */
  linger_s?: number | null;
}

/** A path as for `concerto run`, or the text or compiled form of a program. */
export type Program = string | { path: string } | { source: string } | { ir: Json };

// ---- The client

interface Waiting {
  message: Json;
  resolve(value: Json): void;
  reject(error: Error): void;
  /** Whether the server was asked if it has the request. */
  probed: boolean;
  /** The number of answers sent before it. */
  after: number;
}

const once = ["sessions/create", "tools/call"]; // must not be executed twice

export interface ConnectOptions {
  /** The client's name for the server. */
  name?: string;
  version?: string;
  /** What the application can display, such as "render:image/png". */
  render?: string[];
  /** The seconds for which to try to reconnect. */
  patience?: number;
}

export interface StdioOptions extends ConnectOptions {
  /** Further flags of `concerto serve`. */
  flags?: string[];
  /** The concerto binary: by default the variable CONCERTO, else the one in PATH. */
  command?: string | string[];
  cwd?: string;
  /** Its environment, by default this process's. */
  env?: Record<string, string>;
}

/** A client of a server, with the tools of this application. */
export class Concerto {
  client_id = "";
  /** Of the server. */
  limits: { max_message?: number; max_sessions?: number } = {};
  private readonly link: Link;
  private ids = 0;
  private waiting = new Map<number, Waiting>();
  private working = new Map<string, AbortController>();
  private sentAnswers = new Map<string, { line: string; number: number }>(); // the answers, by id
  private answerBytes = 0;
  private answers = 0; // sent
  private arrived = 0; // certainly received by the server
  private readonly own = new Map<string, Tool>();
  private readonly registering = new Set<Promise<void>>();
  private readonly pending = new Set<Tool>(); // of these
  private readonly sessions = new Map<string, Session>();
  private readonly awaits = new Map<string, (payload: any) => unknown>();
  private missing = false; // some messages during the loss are missing
  private ended: ConcertoError | null = null; // why nothing works any more
  private closed: ConcertoError | null = null; // why no further requests are possible

  private constructor(link: Link) {
    this.link = link;
    link.client = this;
  }

  /** Starts `concerto serve --stdio`. */
  static async stdio(options: StdioOptions = {}): Promise<Concerto> {
    return Concerto.open(new Stdio(options), options);
  }

  /** Connects to `concerto serve --http`: http(s)://HOST:PORT or ws(s)://HOST:PORT. The
   * token is the one that the server printed, or that its --token-env names. */
  static async connect(url: string, token?: string, options: ConnectOptions = {}): Promise<Concerto> {
    const u = new URL(url);
    if (!["http:", "https:", "ws:", "wss:"].includes(u.protocol)) {
      throw new TypeError(`connect requires http://HOST:PORT, https, ws or wss, not ${url}`);
    }
    const patience = (options.patience ?? 60) * 1000;
    return Concerto.open(u.protocol.startsWith("http") ? new Sse(u, token, patience) : new Socket(u, token, patience), options);
  }

  private static async open(link: Link, options: ConnectOptions): Promise<Concerto> {
    const c = new Concerto(link);
    link.hello = {
      protocol,
      client: { name: options.name ?? "typescript", version: options.version ?? "0.1.0" },
      capabilities: { awaits: true, render: options.render ?? [] },
    };
    try {
      await link.start();
    } catch (e) {
      await link.close();
      throw e;
    }
    return c;
  }

  /** Closes the connection. A server started by stdio() stops, after up to --drain
   * seconds for running sessions; other servers remove the tools. */
  async close(): Promise<void> {
    if (!this.ended && this.link.shared && this.own.size > 0) {
      const names = [...new Set([...this.own.values()].map((t) => t.definition.name))];
      await Promise.race([this.request("tools/unregister", { names }).catch(() => {}), sleep(2000)]);
    }
    this.closed ??= new ConnectionLost("this connection to concerto was closed");
    await this.link.close(); // handlers continue to run
    this.lose(this.closed);
  }

  // -- tools

  /** Registers a tool for agents and programs. Rejects with RequestError, as do run() and
   * call(), which wait for it. */
  tool(definition: ToolDefinition, handler: Handler, options: ToolOptions = {}): Promise<void> {
    if (typeof handler !== "function") throw new TypeError(`tool '${definition.name}' has no function: c.tool({ … }, (input, ctx) => …)`);
    const session_id = typeof options.session === "object" ? options.session.id : options.session;
    const tool: Tool = { definition: { parameters: { type: "object" }, ...definition }, handler, session_id };
    const k = key(definition.name, definition.version, session_id);
    const before = this.own.get(k);
    this.own.set(k, tool);
    this.pending.add(tool);
    const done = this.request("tools/register", registration([tool], options.replace)).then(
      () => {
        this.pending.delete(tool);
        this.registering.delete(done);
      },
      (e) => {
        this.pending.delete(tool);
        if (before) this.own.set(k, before);
        else this.own.delete(k);
        throw e;
      },
    );
    this.registering.add(done);
    done.catch(() => {}); // registered() reports it, too
    return done;
  }

  /** Waits until all tools are registered. */
  async registered(): Promise<void> {
    for (const done of [...this.registering]) {
      try {
        await done;
      } finally {
        this.registering.delete(done);
      }
    }
  }

  /** Removes a tool of this application, "x" in every version or "x@2", and reports
   * whether it existed. Running calls continue. */
  async unregister(name: string): Promise<boolean> {
    await this.registered();
    const answer = await this.request("tools/unregister", { names: [name] });
    const [base, version] = name.split("@");
    for (const [k, t] of [...this.own]) {
      if (t.definition.name === base && (version === undefined || version === String(t.definition.version ?? 1))) this.own.delete(k);
    }
    return answer.unregistered.length > 0;
  }

  /** The existing tools, as `tools/list` returns them. */
  async tools(only: { session?: Session | string; category?: string } = {}): Promise<Json[]> {
    await this.registered();
    const session_id = typeof only.session === "object" ? only.session.id : only.session;
    const found: Json[] = [];
    for (let after: string | undefined; ; ) {
      const answer = await this.request("tools/list", { session_id, category: only.category, after });
      found.push(...answer.tools);
      if (!(after = answer.next)) return found;
    }
  }

  /** Calls a tool of any application and returns its output. Rejects with ToolError. */
  async call(name: string, args: Record<string, Json> = {}, session?: Session | string): Promise<Json> {
    await this.registered();
    return this.callTool(name, args, { session_id: typeof session === "object" ? session.id : session });
  }

  private async callTool(name: string, args: Record<string, Json>, more: Json): Promise<Json> {
    const r = await this.request("tools/call", { name, args, ...more });
    if (r?.success === true) return r.output ?? null;
    throw new ToolError(r?.error ?? `tool '${name}' failed`, r?.metadata?.concerto?.outcome, r?.metadata);
  }

  // -- sessions

  /** Starts a program. Rejects with RequestError, which lists all errors of the program. */
  async run(program: Program, options: RunOptions = {}): Promise<Session> {
    await this.registered();
    const created = await this.request("sessions/create", { program: typeof program === "string" ? { path: program } : program, ...options });
    return this.claim(created.session_id);
  }

  /** Attaches to a running session: its events after a number, and its awaited emits. */
  async session(id: string, after = 0): Promise<Session> {
    await this.request("sessions/subscribe", { session_id: id, after, answers: true });
    return this.claim(id);
  }

  /** Answers awaited emits on a channel: f(payload), async or not, returns the value of
   * the emit; its exception is the program's EmitError. */
  on_await(channel: string, f: (payload: any) => unknown): void {
    this.awaits.set(channel, f);
  }

  private claim(id: string): Session {
    const s = this.of(id);
    s.claimed = true;
    if (s.hasEnded()) this.finished(s);
    return s;
  }

  /** The session of an event, which may arrive before the answer that names it. */
  private of(id: string): Session {
    let s = this.sessions.get(id);
    if (!s) this.sessions.set(id, (s = new Session(this, id)));
    return s;
  }

  /** @internal */
  finished(s: Session): void {
    if (s.claimed) this.sessions.delete(s.id);
  }

  // -- JSON-RPC

  /** Sends a request of the protocol and returns its result. Rejects with RequestError or
   * ConnectionLost. */
  request(method: string, params: Json = {}): Promise<Json> {
    return new Promise((resolve, reject) => {
      const error = this.closed ?? this.ended;
      if (error) return reject(error);
      const message = { jsonrpc: "2.0", id: ++this.ids, method, params };
      this.waiting.set(message.id, { message, resolve, reject, probed: false, after: this.answers });
      this.send(message);
    });
  }

  private notify(method: string, params: Json): void {
    if (!this.ended) this.send({ jsonrpc: "2.0", method, params });
  }

  private send(message: Json): void {
    const line = JSON.stringify(message);
    const most = this.limits.max_message;
    const size = most && line.length > most / 4 ? new TextEncoder().encode(line).length : 0;
    if (!most || size <= most) return this.link.send(line, message);
    const error = { code: -32004, message: `a message of ${size} bytes exceeds the server's limit of ${most} (--max-message)`, data: { limit: "max_message" } };
    if (message.method === undefined) this.link.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }), {});
    else if (message.id === undefined) console.error(`${message.method} is not sent: ${error.message}`);
    else this.answered({ id: message.id, error });
  }

  /** Handles a message of the server. Unknown messages are ignored.
   * @internal */
  handleMessage(message: Json): void {
    const method = message?.method;
    if (method === undefined) this.answered(message);
    else if (message.id !== undefined) this.handleRequest(message);
    else if (method === "$/cancelRequest") this.working.get(message.params?.id)?.abort(new ConcertoError("the caller no longer waits"));
    else if (hole(message)) {
      this.missing = true;
      for (const s of this.sessions.values()) this.resubscribe(s);
    } else if (method === "session/event" && typeof message.params?.session_id === "string") this.of(message.params.session_id).add(message.params);
  }

  private answered(message: Json): void {
    const w = this.waiting.get(message?.id);
    if (!w) return;
    this.arrived = Math.max(this.arrived, w.after);
    if (w.probed && this.probed(w, message)) return;
    this.waiting.delete(message.id);
    if (message.error) w.reject(refusal(message.error));
    else w.resolve(message.result);
  }

  /** Reports whether this answers resumed()'s ping. */
  private probed(w: Waiting, message: Json): boolean {
    const works = message.error?.code === -32600;
    const never = !message.error && message.result && Object.keys(message.result).length === 0;
    if (!works && !never) return false;
    w.probed = false;
    if (never && this.missing && once.includes(w.message.method)) {
      this.waiting.delete(w.message.id);
      w.reject(unknown(w.message.method));
    } else if (never) {
      this.send(w.message); // the server did not receive it
    }
    return true;
  }

  private handleRequest(message: Json): void {
    const id = String(message.id);
    const sent = this.sentAnswers.get(id);
    if (sent !== undefined) return this.link.send(sent.line, {}); // the answer was lost
    if (this.working.has(id)) return;
    const control = new AbortController();
    this.working.set(id, control);
    const cancelled = new Promise<never>((_, reject) =>
      control.signal.addEventListener("abort", () => reject(new RequestError("the request was withdrawn", -32005))));
    cancelled.catch(() => {});
    const work = Promise.resolve().then(() => this.serve(message.method, message.params ?? {}, control.signal));
    Promise.race([work, cancelled])
      .then((value) => ({ result: value }), (e) => ({ error: { code: e instanceof RequestError ? e.code : -32603, message: text(e) } }))
      .then((answer) => this.sendAnswer(message.id, id, control, answer));
  }

  private sendAnswer(id: Json, name: string, control: AbortController, answer: Json): void {
    if (this.working.get(name) !== control || this.ended) return;
    this.working.delete(name);
    const message = { jsonrpc: "2.0", id, ...answer };
    const line = JSON.stringify(message);
    this.sentAnswers.set(name, { line, number: ++this.answers });
    this.answerBytes += line.length;
    for (const [old, answer] of this.sentAnswers) {
      if ((this.answerBytes <= maxAnswerBytes && this.sentAnswers.size <= 1024) || this.sentAnswers.size === 1) break;
      this.sentAnswers.delete(old);
      this.answerBytes -= answer.line.length;
    }
    this.send(message);
  }

  private async serve(method: string, p: Json, cancelled: AbortSignal): Promise<Json> {
    if (method === "tool/call") return this.callHandler(p, cancelled);
    if (method !== "emit/await") throw new RequestError(`unknown method '${method}'`, -32601);
    const f = this.awaits.get(p.channel);
    if (!f) throw new RequestError(`no handler for channel '${p.channel}': define one with c.on_await(${JSON.stringify(p.channel)}, f)`, -32601);
    const value = (await f(p.payload)) ?? null;
    if (JSON.stringify(value) === undefined) throw new ConcertoError(`the answer on channel '${p.channel}' is not JSON: a ${typeof value}`);
    return { value };
  }

  private async callHandler(p: Json, cancelled: AbortSignal): Promise<ToolResult> {
    const tool = this.own.get(key(p.name, p.version, p.session_id)) ?? this.own.get(key(p.name, p.version, undefined));
    if (!tool) return { success: false, output: null, error: `this client has no tool '${p.name}@${p.version}'` };
    const call_id = p.call_id;
    const ctx: ToolContext = {
      session_id: p.session_id ?? "", cwd: p.context?.cwd ?? "", environment: p.context?.environment ?? {}, metadata: p.context?.metadata ?? {},
      call_id, tool: p.name, version: p.version ?? 1, by: p.by ?? "", route: p.route, chain: p.chain ?? [], timeout_s: p.timeout_s ?? 0, cancelled,
      progress: async (progress, total, message) => this.notify("tool/progress", { call_id, progress, total, message }),
      emit: async (channel, payload = null) => this.notify("tool/emit", { call_id, channel, payload }),
      call: (name, args = {}) => this.callTool(name, args, { parent: call_id }),
    };
    try {
      const r = result(await tool.handler(p.args ?? {}, ctx));
      const line = JSON.stringify(r);
      if (JSON.parse(line).output === undefined) throw new ConcertoError(`the handler returned a value that is not JSON: a ${typeof r.output} is not a JSON value`);
      return r;
    } catch (e) {
      return failure(p.name, e);
    }
  }

  // -- the connection

  /** @internal */
  welcome(w: Json): void {
    this.client_id = w.client_id;
    this.limits = w.limits ?? {};
  }

  /** The server still knew this client: it repeats the missed messages. The client
   * repeats answers that the server may not have received, and finds out which
   * unanswered requests the server has: the server refuses a ping with the id of a
   * request that it is processing; if it has answered the request, it repeats the answer
   * before the ping's.
   * @internal */
  resumed(): void {
    this.missing = false;
    if (!this.link.loses) return;
    for (const { line, number } of this.sentAnswers.values()) {
      if (number > this.arrived) this.link.send(line, {});
    }
    for (const [id, w] of this.waiting) {
      w.probed = true;
      this.send({ jsonrpc: "2.0", id, method: "ping", params: {} });
    }
  }

  /** The server no longer knew this client: registers the tools again, subscribes to the
   * sessions after their last events, and does not repeat what may have been executed.
   * @internal */
  renewed(): void {
    this.forget();
    this.link.clear();
    const waiting = this.waiting;
    this.waiting = new Map();
    const bySession = new Map<string | undefined, Tool[]>();
    for (const t of this.own.values()) {
      if (!this.pending.has(t)) bySession.set(t.session_id, [...(bySession.get(t.session_id) ?? []), t]);
    }
    for (const tools of bySession.values()) {
      this.request("tools/register", registration(tools, true)).catch((e) => console.error(`tools are not registered any more: ${text(e)}`));
    }
    for (const s of this.sessions.values()) this.resubscribe(s);
    for (const [id, w] of waiting) {
      const method = w.message.method;
      if (once.includes(method)) {
        w.reject(unknown(method));
        continue;
      }
      this.waiting.set(id, w);
      this.send(w.message);
    }
  }

  /** Subscribes to a session after its last received event. */
  private resubscribe(s: Session): void {
    this.request("sessions/subscribe", { session_id: s.id, after: s.cursor, answers: true }).catch((e) =>
      s.lose(e instanceof RequestError ? new SessionError("lost", `the server does not know session ${s.id} any more: ${e.message}`) : e));
  }

  /** Cancels the handlers that work for a client that the server no longer knows. */
  private forget(): void {
    const working = this.working;
    this.working = new Map();
    this.sentAnswers.clear();
    this.answerBytes = 0;
    for (const control of working.values()) control.abort(new ConcertoError("the caller no longer waits"));
  }

  /** Fails open and future requests.
   * @internal */
  lose(why: ConcertoError): void {
    const error = (this.ended ??= this.closed ?? why);
    this.forget();
    const waiting = this.waiting;
    this.waiting = new Map();
    for (const w of waiting.values()) w.reject(error);
    for (const s of this.sessions.values()) s.lose(error);
  }

  /** @internal */
  isWaiting(id: number): boolean {
    return this.waiting.has(id);
  }

  /** @internal */
  hasEnded(): boolean {
    return this.ended !== null;
  }
}

function unknown(method: string): ConnectionLost {
  return new ConnectionLost(`the connection was lost during ${method}: it is unknown whether it took effect`);
}

/** The number of the last message that the server has dropped, if this message reports
 * it, else 0. */
function hole(message: Json): number {
  const p = message?.params;
  return message?.method === "session/event" && !p?.session_id && p?.type === "gap" ? p.to : 0;
}

function registration(tools: Tool[], replace: boolean | undefined): Json {
  return { tools: tools.map((t) => t.definition), replace: replace || undefined, session_id: tools[0]?.session_id };
}

// ---- Connections

/** A connection, or several in succession. */
interface Link {
  client: Concerto;
  /** The parameters of initialize. */
  hello: Json;
  /** Whether the server also serves other clients. */
  readonly shared: boolean;
  /** Whether sent messages may be lost. */
  readonly loses: boolean;
  start(): Promise<void>;
  send(line: string, message: Json): void;
  clear(): void;
  close(): Promise<void>;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The delay before another attempt, in ms. */
function backoff(attempt: number): number {
  return Math.min(5000, 50 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}

function helloLine(hello: Json, resume?: Json): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: { ...hello, resume } });
}

/** The result of initialize. */
function welcomeOf(message: Json): Json {
  if (message?.error) throw refusal(message.error);
  if (typeof message?.result?.client_id !== "string") throw new ConnectionLost(`the process is not \`concerto serve\`; it answered: ${JSON.stringify(message).slice(0, 200)}`);
  return message.result;
}

function parsed(line: string): Json {
  try {
    return JSON.parse(line);
  } catch {
    throw new Cut(`received an invalid message: ${line.slice(0, 200)}`);
  }
}

/** A server started by this process, on its stdin and stdout. */
class Stdio implements Link {
  client!: Concerto;
  hello: Json;
  readonly shared = false;
  readonly loses = false;
  private readonly argv: string[];
  private readonly options: StdioOptions;
  private child: any = null;
  private tail = ""; // of its stderr
  private readonly exit: Promise<string>; // how it ended
  private exited: (how: string) => void = () => {};

  constructor(options: StdioOptions) {
    if (typeof process === "undefined" || !process.versions?.node) {
      throw new ConnectionLost("a browser cannot start processes: use Concerto.connect(url, token)");
    }
    const own = options.command ?? process.env.CONCERTO ?? "concerto";
    this.argv = [...(Array.isArray(own) ? own : [own]), "serve", "--stdio", ...(options.flags ?? [])];
    this.options = options;
    this.exit = new Promise((resolve) => (this.exited = resolve));
  }

  async start(): Promise<void> {
    const name = "node:child_process"; // bundlers for browsers ignore this import
    const { spawn } = await import(name);
    const [command, ...args] = this.argv;
    // In its own session: Ctrl-C goes to this process, and close() stops the server in order.
    this.child = spawn(command, args, { cwd: this.options.cwd, env: this.options.env ?? process.env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.child.stdin.on("error", () => {}); // the exit status has the cause
    this.child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      this.tail = (this.tail + piece).slice(-2048);
      process.stderr.write(piece);
    });
    this.child.on("error", (e: any) =>
      this.exited(`could not start ${command}: ${e.code === "ENOENT" ? "not found" : e.message}: install concerto, or set its path with Concerto.stdio({ command }) or the variable CONCERTO`));
    this.child.on("close", (code: number | null, by: string) => {
      const tail = this.tail.trim();
      this.exited(`\`${this.argv.join(" ")}\` ${code === null ? `was ended by ${by}` : `ended with exit code ${code}`}${tail && ": " + tail}`);
    });
    const first = this.read();
    this.write(helloLine(this.hello));
    const message = await Promise.race([first, this.exit.then((how) => { throw new ConnectionLost(how); })]);
    this.client.welcome(welcomeOf(message));
    this.exit.then((how) => this.client.lose(new ConnectionLost(how)));
  }

  /** Receives messages and returns the first one. */
  private read(): Promise<Json> {
    let resolve: ((first: Json) => void) | null = null;
    const first = new Promise((r) => (resolve = r));
    let parts: string[] = [];
    this.child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = chunk.split("\n");
      const rest = lines.pop() as string;
      for (const line of lines) {
        parts.push(line);
        const whole = parts.join("");
        parts = [];
        if (whole.trim() === "") continue;
        let message: Json;
        try {
          message = JSON.parse(whole);
        } catch {
          this.exited(`${this.argv[0]} printed an invalid message: ${whole.slice(0, 200)}`);
          return;
        }
        if (!resolve) this.client.handleMessage(message);
        else resolve(message);
        resolve = null;
      }
      parts.push(rest);
    });
    return first;
  }

  private write(line: string): void {
    if (this.child.stdin.writable) this.child.stdin.write(line + "\n");
  }

  send(line: string, _message: Json): void {
    this.write(line);
  }

  clear(): void {}

  async close(): Promise<void> {
    if (!this.child) return;
    this.child.stdin.end();
    for (const [ms, sign] of [[30_000, "SIGTERM"], [12_000, "SIGKILL"]] as [number, string][]) {
      const timer = setTimeout(() => this.child.kill(sign), ms);
      const how = await Promise.race([this.exit, sleepBeside(ms + 100)]);
      clearTimeout(timer);
      if (how !== undefined) return;
    }
    await this.exit;
  }
}

/** Sleeps without keeping Node alive. */
function sleepBeside(ms: number): Promise<undefined> {
  return new Promise((resolve) => (setTimeout(() => resolve(undefined), ms) as any).unref?.());
}

/** Network connections that are reestablished after a loss. */
abstract class Net implements Link {
  client!: Concerto;
  hello: Json;
  readonly shared = true;
  readonly loses: boolean = false;
  protected readonly url: URL;
  protected readonly token: string | undefined;
  protected readonly patience: number; // ms
  protected readonly at: string;
  protected cursor = 0; // the number of the server's last message
  protected queue: { line: string; message: Json }[] = [];
  protected closed = false;

  constructor(url: URL, token: string | undefined, patience: number) {
    this.url = url;
    this.token = token;
    this.patience = patience;
    this.at = `${url.protocol}//${url.host}`;
  }

  async start(): Promise<void> {
    try {
      await this.initialize(undefined);
    } catch (e) {
      if (e instanceof ConcertoError) throw e;
      throw new ConnectionLost(`nothing answers at ${this.at}: ${cause(e)}: start it with \`concerto serve --http ${this.url.host}\``);
    }
    void this.run();
  }

  protected abstract initialize(resume: Json): Promise<void>;
  /** Receives messages until the connection ends; then it rejects. */
  protected abstract read(): Promise<never>;
  /** Resumes the client's state at the server; false if the server does not know it. */
  protected abstract resume(): Promise<boolean>;
  abstract send(line: string, message: Json): void;
  abstract close(): Promise<void>;

  clear(): void {
    this.queue = [];
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      try {
        await this.read().catch((e) => this.reconnect(e));
      } catch (e) {
        this.client.lose(e instanceof ConcertoError ? e : new ConnectionLost(text(e)));
        return;
      }
    }
  }

  private async reconnect(why: unknown): Promise<void> {
    const until = Date.now() + this.patience;
    for (let attempt = 0; !this.closed; attempt++) {
      try {
        const resumed = await this.resume();
        if (!resumed) await this.initialize(undefined);
        if (resumed) this.client.resumed();
        else this.client.renewed();
        return;
      } catch (e) {
        if (e instanceof ConcertoError) throw e;
        why = e;
      }
      const left = until - Date.now();
      if (left <= 0) throw new ConnectionLost(`the connection to ${this.at} was lost and could not be restored within ${this.patience / 1000} s: ${cause(why)}`);
      await sleep(Math.min(left, backoff(attempt)));
    }
  }

  /** The error for an unexpected HTTP status. */
  protected async refused(r: Response): Promise<Error> {
    const body = (await r.text()).trim();
    try {
      const message = JSON.parse(body);
      if (typeof message?.error === "object") return refusal(message.error);
    } catch {
      // Not JSON.
    }
    if (r.status === 401) return new ConnectionLost(`the server at ${this.at} refused the token: pass connect(url, token) the token that the server prints when it starts, or that of its --token-env`);
    if ([502, 503, 504].includes(r.status)) return new Cut(`status ${r.status} ${body.slice(0, 200)}`);
    return new ConnectionLost(`${this.at} answered with status ${r.status}: ${body.slice(0, 200)}`);
  }

  protected headers(): Record<string, string> {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }
}

/** A decoder of server-sent events, which may arrive in pieces that end at any character. Lines end
 * with CRLF, LF or CR. The end of the stream drops an event that no blank line follows, with its
 * number, so that the server repeats it. */
class EventStream {
  private parts: string[] = []; // of the current line
  private afterCR = false; // an LF that comes next belongs to the last line
  private number: number | null = null;
  private data: string[] = [];

  /** Yields the number and the data of each event that a piece completes. */
  *feed(piece: string): Generator<{ number: number | null; data: string | null }> {
    if (piece === "") return;
    const lines = (this.afterCR ? piece.replace(/^\n/, "") : piece).split(/\r\n|\r|\n/);
    this.afterCR = piece.endsWith("\r");
    const rest = lines.pop() as string;
    for (const end of lines) {
      this.parts.push(end);
      const line = this.parts.join("");
      this.parts = [];
      if (line !== "") {
        this.field(line);
      } else if (this.number !== null || this.data.length > 0) {
        const event = { number: this.number, data: this.data.length > 0 ? this.data.join("\n") : null };
        this.number = null;
        this.data = [];
        yield event;
      }
    }
    this.parts.push(rest);
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.data.push(value);
    else if (name === "id" && /^\d+$/.test(value)) this.number = Number(value);
  }
}

/** HTTP: each message to the server is a POST, its messages are server-sent events. */
class Sse extends Net {
  private readonly base: string;
  private events: Response | null = null;
  private control = new AbortController(); // of the events
  private sending = false;

  constructor(url: URL, token: string | undefined, patience: number) {
    super(url, token, patience);
    this.base = this.at + url.pathname.replace(/\/+$/, "");
  }

  async close(): Promise<void> {
    this.closed = true;
    this.control.abort();
  }

  protected async initialize(_resume: Json): Promise<void> {
    const r = await this.post(helloLine(this.hello), false);
    if (r.status !== 200) throw await this.refused(r);
    const w = welcomeOf(await r.json());
    this.cursor = w.cursor ?? 0;
    this.client.welcome(w);
    if (!(await this.resume())) throw new ConnectionLost(`${this.at} does not recognise the client that it has just created`);
  }

  protected async resume(): Promise<boolean> {
    this.control.abort();
    this.control = new AbortController();
    const headers = { ...this.headers(), Accept: "text/event-stream", "Concerto-Client": this.client.client_id, "Last-Event-ID": String(this.cursor) };
    const r = await fetch(this.base + "/events", { headers, signal: this.control.signal });
    this.events = r;
    if (r.status === 200) return true;
    const e = await this.refused(r);
    if (e instanceof RequestError && e.code === -32001) return false;
    throw e;
  }

  protected async read(): Promise<never> {
    const stream = new EventStream();
    const reader = (this.events as any).body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Cut("the stream of events has ended");
      for (const e of stream.feed(value)) {
        if (e.number !== null) this.cursor = e.number;
        if (e.data !== null) this.client.handleMessage(parsed(e.data));
      }
    }
  }

  send(line: string, message: Json): void {
    this.queue.push({ line, message });
    if (!this.sending) void this.pump();
  }

  private async ask(line: string, message: Json): Promise<void> {
    const answer = await this.deliver(line, once.includes(message.method), () => this.client.isWaiting(message.id));
    if (answer) this.client.handleMessage({ ...answer, id: message.id });
  }

  /** Sends the queued messages in order. */
  private async pump(): Promise<void> {
    this.sending = true;
    for (let next = this.queue.shift(); next; next = this.queue.shift()) {
      const { line, message } = next;
      if (message.method !== undefined && message.id !== undefined) void this.ask(line, message); // a slow request must not block others
      else await this.deliver(line, false, () => true);
    }
    this.sending = false;
  }

  /** Posts a message until it is delivered; returns the answer to a request. */
  private async deliver(line: string, once: boolean, isWaiting: () => boolean): Promise<Json> {
    for (let attempt = 0; ; attempt++) {
      try {
        const r = await this.post(line, true);
        if (r.status !== 200 && r.status !== 202) throw await this.refused(r);
        const body = await r.text();
        return body.trim() === "" ? null : parsed(body);
      } catch (e: any) {
        if (e instanceof RequestError && e.code === -32001) {
          this.control.abort(); // the reader of the events notices and repeats what is open
          return null;
        }
        if (e instanceof RequestError) return { error: { code: e.code, message: e.message, data: e.data } };
        if (e instanceof ConcertoError) this.client.lose(e);
        else if (once && !unsent(e)) return { error: { code: -32603, message: `the connection was lost before the answer arrived: it is unknown whether the request took effect (${cause(e)})` } };
      }
      if (this.client.hasEnded() || !isWaiting()) return null;
      await sleep(backoff(attempt));
    }
  }

  private post(line: string, named: boolean): Promise<Response> {
    const headers: Record<string, string> = { ...this.headers(), "Content-Type": "application/json" };
    if (named) headers["Concerto-Client"] = this.client.client_id;
    return fetch(this.base + "/rpc", { method: "POST", headers, body: line });
  }
}

/** Reports whether a request certainly did not reach the server. */
function unsent(e: any): boolean {
  const code = e?.cause?.code ?? e?.cause?.errors?.[0]?.code;
  return e instanceof Cut || ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"].includes(code);
}

/** WebSocket: one message in each text frame. */
class Socket extends Net {
  override readonly loses: boolean = true;
  private socket: any = null;
  private onFirst: ((message: Json) => void) | null = null; // the answer to initialize
  private failed: (e: Error) => void = () => {};
  private broken: Promise<never> = new Promise(() => {}); // rejects when the connection ends
  private up = false;
  private last = 0; // the time of the last message

  constructor(url: URL, token: string | undefined, patience: number) {
    super(url, token, patience);
    if (typeof WebSocket === "undefined") {
      throw new ConnectionLost("WebSocket is not available: use Node 22 or newer or a browser, or connect to the http:// address");
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.socket?.close(1000);
    this.failed(new Cut("closed"));
  }

  protected async initialize(resume: Json): Promise<void> {
    const message = await this.dial(helloLine(this.hello, resume));
    this.client.welcome(welcomeOf(message));
    this.up = true;
    this.pump();
  }

  /** Opens a socket, sends a line, and returns the first message. */
  private async dial(line: string): Promise<Json> {
    this.hangUp();
    const path = this.url.pathname.replace(/\/+$/, "");
    const socket = new WebSocket(this.at + (path.endsWith("/ws") ? path : path + "/ws"), ["concerto.v1", ...(this.token ? ["bearer." + this.token] : [])]);
    this.socket = socket;
    this.broken = new Promise((_, reject) => (this.failed = reject));
    this.broken.catch(() => {});
    const first = new Promise<Json>((resolve) => (this.onFirst = resolve));
    let opened = false;
    socket.onopen = () => {
      opened = true;
      socket.send(line);
    };
    socket.onmessage = (e: any) => this.handleFrame(socket, e.data);
    socket.onclose = (e: any) => {
      if (this.socket === socket) this.failed(new Cut(opened ? `the server has closed the connection: ${e.code} ${e.reason}`.trim() : "no connection"));
    };
    socket.onerror = () => {
      if (this.socket === socket) this.failed(new Cut(opened ? "the connection has ended" : "no connection"));
    };
    const late = setTimeout(() => this.failed(new Cut("no answer in time")), 10_000);
    try {
      return await Promise.race([first, this.broken]);
    } catch (e) {
      this.hangUp();
      if (!opened) throw await this.unopened(e);
      throw e;
    } finally {
      clearTimeout(late);
    }
  }

  /** The reason why a socket did not open. A WebSocket does not report it, a POST does. */
  private async unopened(e: unknown): Promise<unknown> {
    const r = await fetch(this.at.replace(/^ws/, "http") + this.url.pathname.replace(/\/+(ws)?$/, "") + "/rpc",
      { method: "POST", headers: { ...this.headers(), "Content-Type": "application/json" }, body: "{}" });
    return r.status === 401 || r.status === 403 ? this.refused(r) : e;
  }

  private handleFrame(socket: any, line: string): void {
    if (this.socket !== socket) return;
    this.last = Date.now();
    try {
      const message = parsed(line);
      if (this.onFirst) {
        this.cursor = message?.result?.cursor ?? 0; // later messages count from here
        this.onFirst(message);
        this.onFirst = null;
        return;
      }
      this.cursor = hole(message) || this.cursor + 1;
      this.client.handleMessage(message);
    } catch (e) {
      this.failed(e as Error);
      socket.close();
    }
  }

  private hangUp(): void {
    const socket = this.socket;
    this.socket = null;
    this.up = false;
    socket?.close();
  }

  protected async resume(): Promise<boolean> {
    try {
      await this.initialize({ client_id: this.client.client_id, after: this.cursor });
      return true;
    } catch (e) {
      if (e instanceof RequestError && e.code === -32001) return false;
      throw e;
    }
  }

  protected async read(): Promise<never> {
    const timer = setInterval(() => this.look(), quiet);
    try {
      return await this.broken;
    } finally {
      clearInterval(timer);
      this.up = false;
    }
  }

  /** Pings a silent server. */
  private look(): void {
    const silent = Date.now() - this.last;
    if (silent > 2 * quiet + 1000) this.failed(new Cut(`the server has sent nothing for ${Math.round(silent / 1000)} s`));
    else if (silent >= quiet) this.client.request("ping").catch(() => {});
  }

  send(line: string, message: Json): void {
    this.queue.push({ line, message });
    this.pump();
  }

  /** Sends the queued messages in order. */
  private pump(): void {
    while (this.up && this.socket?.readyState === 1 && this.queue.length > 0) this.socket.send(this.queue.shift()?.line);
  }
}
