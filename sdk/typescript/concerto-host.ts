// A host for Concerto in a few lines: one file, no dependencies, Node 18 or newer.
//
//   import { serve } from "./concerto-host.js";
//
//   await serve(async (task) => {
//     const style = await task.ask("Tabs or spaces?", { options: ["tabs", "spaces"] });
//     return { text: `done, with ${style}` };
//   }, { capabilities: ["cancel"] });
//
// serve reads prompts from standard input until it ends. The handler's return value is
// the result of the exchange, and its exception the error. Prints go to standard error
// and thus to the run's log, because standard output carries only messages. The protocol
// is spec/host-protocol.md.

declare const process: any;

const grace = 5000; // ms that a handler has after the end of standard input
const yes = ["yes", "y", "ok", "okay", "allow", "approve", "approved", "accept", "once", "true"];
const no = ["", "no", "n", "deny", "denied", "reject", "rejected", "decline", "false"];
const scopes = ["once", "session", "always"];
const check = "concerto test: "; // begins the prompts of `concerto host test`

/** Any JSON value. */
export type Json = any;

/** A request got no answer: no handler exists, the handler failed, the request was
 * withdrawn, or the exchange was cancelled. The message has the cause. */
export class Refused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Refused";
  }
}

/** The answer to an approval. Only a clear yes allows. */
export interface Decision {
  allow: boolean;
  /** The reason for a denial. */
  reason: string;
  /** The arguments to use: the original ones, or those the answer changed. */
  input: Json;
  /** The scope of the approval. */
  scope: "once" | "session" | "always";
}

export interface ProgressFields {
  percent?: number;
  stage?: string;
  usage?: { tokens_in: number; tokens_out: number; tokens_cached?: number };
  cost_usd?: number;
  turns?: number;
}

export interface PlanLimitFields {
  used_percent?: number;
  /** A time as in RFC 3339. */
  resets_at?: string;
}

export interface AskFields {
  options?: string[];
  questions?: Json[];
  schema?: Json;
  id?: string;
}

export interface ApproveFields {
  tool?: string;
  args?: Json;
  kind?: string;
  risk_level?: string;
  id?: string;
}

export interface ServeOptions {
  /** Receives the parameters of the manifest. Its result, such as { version: "1.2.0" },
   * is added to init_ack; its exception rejects the parameters. */
  init?: (params: Record<string, Json>) => unknown;
  /** Announced in init_ack. "cancel" means that the handler checks task.cancelled, and "steer" that
   * it reads task.messages(). */
  capabilities?: string[];
  /** Answer the prompts of `concerto host test` without calling the handler. */
  testable?: boolean;
}

export type Handler = (task: Task) => unknown;

type Message = Record<string, Json>;
interface Waiter {
  resolve(value: Json): void;
  reject(error: Error): void;
}

function decide(value: Json, args: Json): Decision {
  const allow = (scope: string, input: Json = args, reason = ""): Decision =>
    ({ allow: true, reason, input, scope: scope as Decision["scope"] });
  const deny = (reason: string, scope = "once"): Decision =>
    ({ allow: false, reason, input: null, scope: scope as Decision["scope"] });
  if (value === true) return allow("once");
  if (value === false) return deny("denied");
  if (typeof value === "string") {
    const word = value.replace(/^[ \t\r\n.!]+|[ \t\r\n.!]+$/g, "").toLowerCase();
    if (yes.includes(word)) return allow("once");
    if (scopes.includes(word)) return allow(word);
    return deny(no.includes(word) ? "denied" : value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, ""));
  }
  if (value?.decision === "allow" || value?.decision === "deny") {
    const reason = typeof value.reason === "string" ? value.reason : "";
    const scope = scopes.includes(value.scope) ? value.scope : "once";
    return value.decision === "deny" ? deny(reason || "denied", scope) : allow(scope, value.input ?? args, reason);
  }
  return deny("not a decision: " + JSON.stringify(value));
}

/** A tool that the host may call. parameters is a JSON Schema. */
export interface ToolSpec {
  name: string;
  description: string;
  parameters: Json;
}

/** One prompt. */
export class Task {
  readonly text: string;
  /** undefined if there is none. */
  readonly context: Json;
  /** The JSON Schema of the expected result, if any. */
  readonly schema: Json;
  /** Of the manifest, as passed to init. */
  readonly params: Record<string, Json>;
  /** The conversation to continue. */
  readonly session: string | undefined;
  /** The prompt continues the exchange of the last one. */
  readonly queued: boolean;
  /** The callable tools; sent to hosts with the capability "tools". */
  readonly tools: ToolSpec[];
  /** Aborted when the result is no longer needed. */
  readonly cancelled: AbortSignal;
  private readonly server: Server;
  private readonly controller = new AbortController();
  private readonly open = new Map<Json, Waiter>();
  private stopReason = ""; // why no further requests are possible
  private received: string[] = []; // not returned by messages()

  /** @internal */
  constructor(server: Server, prompt: Message) {
    this.text = prompt.text ?? "";
    this.context = prompt.context;
    this.schema = prompt.schema;
    this.params = server.params;
    this.session = prompt.session;
    this.queued = prompt.queued === true;
    this.tools = prompt.tools ?? [];
    this.cancelled = this.controller.signal;
    this.server = server;
  }

  /** Reports progress; percent is rounded to an integer. usage, cost_usd and turns are totals since the exchange began. */
  progress(message: string, fields: ProgressFields = {}): void {
    const percent = fields.percent === undefined ? undefined : Math.round(fields.percent);
    this.sendNote("progress", { message, ...fields, percent });
  }

  /** Reports a limit of the plan under which the host works. The window is "5h", "week" or another text. */
  planLimit(window: string, status: "near" | "reached", fields: PlanLimitFields = {}): void {
    this.sendNote("plan_limit", { window, status, ...fields });
  }

  /** Sends a log line to the program. The level is debug, info, warn or error. */
  log(level: string, message: string): void {
    this.sendNote("log", { level, message });
  }

  /** Sends a part of the result. message is the id of the message to which it belongs. */
  partial(text: string, message?: string): void {
    this.sendNote("partial", { text, message });
  }

  /** Removes the parts of these messages from the result. */
  retract(messages: string[]): void {
    this.sendNote("retract", { messages });
  }

  /** Asks the program and returns its answer. Rejects with Refused. */
  ask(question: string, fields: AskFields = {}): Promise<Json> {
    const { id, ...more } = fields;
    return this.request("question", id, { question, ...more });
  }

  /** Asks whether an action is allowed. Rejects with Refused if there is no answer. */
  async approve(description: string, fields: ApproveFields = {}): Promise<Decision> {
    const { id, ...more } = fields;
    return decide(await this.request("approval", id, { description, ...more }), fields.args);
  }

  /** Calls one of the program's tools and returns its result. Rejects with Refused. */
  call(tool: string, args: Json, fields: { id?: string } = {}): Promise<Json> {
    return this.request("tool_call", fields.id, { tool, args });
  }

  /** Returns the texts that the program has sent to this task since the last call. Only hosts with
   * the capability "steer" receive them. */
  messages(): string[] {
    return this.received.splice(0);
  }

  /** @internal */
  steer(message: Message): void {
    this.received.push(String(message.text ?? ""));
  }

  /** Withdraws the requests with these ids, or all open ones. They reject with Refused. */
  withdraw(...ids: string[]): void {
    for (const id of ids.length > 0 ? ids : [...this.open.keys()]) {
      const waiter = this.open.get(id);
      if (!waiter) continue;
      this.open.delete(id);
      this.server.write("withdraw", { id });
      waiter.reject(new Refused("withdrawn"));
    }
  }

  private sendNote(type: string, members: Message): void {
    if (this.server.current === this) this.server.write(type, members);
  }

  private request(type: string, id: string | undefined, members: Message): Promise<Json> {
    const answer = new Promise((resolve, reject) => {
      if (this.stopReason) throw new Refused(this.stopReason);
      const own = id ?? `${type[0]}${++this.server.requests}`;
      if (this.open.has(own)) throw new Error(`a request with the id ${own} is waiting already`);
      this.server.write(type, { id: own, ...members });
      this.open.set(own, { resolve, reject });
    });
    answer.catch(() => {}); // an unawaited promise must not end the process
    return answer;
  }

  /** @internal */
  answer(message: Message): void {
    const waiter = this.open.get(message.answer_to);
    this.open.delete(message.answer_to);
    if (typeof message.error === "string") waiter?.reject(new Refused(message.error));
    else waiter?.resolve(message.value ?? null);
  }

  /** Refuses open and future requests.
   * @internal */
  stop(reason: string, cancel: boolean): void {
    this.stopReason ||= reason;
    for (const waiter of this.open.values()) waiter.reject(new Refused(reason));
    this.open.clear();
    if (cancel) this.controller.abort(new Refused(reason));
  }
}

class Server {
  params: Record<string, Json> = {};
  requests = 0;
  current: Task | null = null; // of the newest prompt
  private jobs: Promise<void> = Promise.resolve();
  private readonly output: (line: string) => void;

  constructor(private readonly handler: Handler, private readonly options: ServeOptions) {
    // The stream carries only the protocol: prints go to stderr.
    this.output = process.stdout.write.bind(process.stdout);
    process.stdout.write = process.stderr.write.bind(process.stderr);
    process.stdout.on("error", () => process.exit(1)); // the program has closed the stream
  }

  async run(): Promise<void> {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let parts: string[] = [];
    for await (const chunk of process.stdin) {
      const lines = decoder.decode(chunk, { stream: true }).split("\n");
      const rest = lines.pop() as string;
      for (const line of lines) {
        parts.push(line);
        this.read(parts.join(""));
        parts = [];
      }
      parts.push(rest);
    }
    // The timer also prevents Node's exit with code 13 while the handler waits.
    const timer = setTimeout(() => process.exit(0), grace);
    this.current?.stop("the program has ended", true);
    await this.jobs;
    clearTimeout(timer);
  }

  private read(line: string): void {
    if (line.trim() === "") return;
    let message: Message | null = null;
    try {
      message = JSON.parse(line);
    } catch {
      // Not a message.
    }
    if (typeof message?.type !== "string") message = { type: "prompt", text: line }; // input_format = "text"
    this.dispatch(message as Message);
  }

  private dispatch(message: Message): void {
    switch (message.type) {
      case "response":
        this.current?.answer(message);
        break;
      case "prompt": {
        const task = (this.current = new Task(this, message));
        this.jobs = this.jobs.then(() => this.runHandler(task));
        break;
      }
      case "steer":
        this.current?.steer(message);
        break;
      case "cancel":
        this.current?.stop("cancelled: " + (message.reason ?? ""), true);
        break;
      case "init":
        this.params = message.params ?? {};
        this.jobs = this.jobs.then(() => this.acknowledge());
        break;
    }
  }

  private async acknowledge(): Promise<void> {
    const capabilities = [...(this.options.capabilities ?? []), ...(this.options.testable ? ["testable"] : [])];
    try {
      this.write("init_ack", { capabilities, ...((await this.options.init?.(this.params)) as Message | undefined) });
    } catch (e) {
      this.write("error", failure(e));
    }
  }

  private async runHandler(task: Task): Promise<void> {
    let handler = this.handler;
    if (this.options.testable && task.text.startsWith(check)) handler = checks[task.text.slice(check.length)] ?? handler;
    try {
      const value = await handler(task);
      if (value === undefined || value === null) this.write("result", {});
      else if (typeof value === "string") this.write("result", { text: value });
      else if (typeof value !== "object" || Array.isArray(value)) this.write("result", { value });
      else this.write("result", value as Message);
    } catch (e) {
      this.write("error", failure(e));
    }
    task.stop("the exchange has ended", false);
    if (this.current === task) this.current = null;
  }

  /** Writes a line without members that are undefined. */
  write(type: string, members: Message): void {
    const { type: _, ...rest } = members;
    this.output(JSON.stringify({ type, ...rest }) + "\n");
  }
}

function failure(e: any): Message {
  if (!(e instanceof Refused)) console.error(e);
  return {
    message: String(e?.message ?? e) || String(e?.name),
    code: typeof e?.code === "string" ? e.code : undefined,
    recoverable: typeof e?.recoverable === "boolean" ? e.recoverable : undefined,
  };
}

/** Handles prompts one at a time until standard input ends. Then it cancels the running
 * handler, and the promise is fulfilled when the handler has returned. */
export async function serve(handler: Handler, options: ServeOptions = {}): Promise<void> {
  await new Server(handler, options).run();
}

const checks: Record<string, Handler> = {
  prompt: () => "prompt",
  progress: (task) => {
    task.progress("half done", { percent: 50, stage: "test" });
    return "progress";
  },
  question: async (task) => ({ text: await task.ask("Which one?", { options: ["one", "two"] }) }),
  approval: async (task) => {
    const ask = (n: string) => task.approve(n, { tool: "concerto_test", args: { n }, kind: "other", risk_level: "low" });
    const [one, two] = [await ask("one"), await ask("two")];
    return { allowed: [one.allow, two.allow], reason: two.reason };
  },
  tool_call: async (task) => {
    const value = await task.call("concerto_test", { n: 1 });
    try {
      await task.call("concerto_test", { n: 2 });
    } catch (e) {
      if (e instanceof Refused) return { value, refused: e.message };
    }
    return { value };
  },
  error: () => {
    throw new Refused("concerto test");
  },
  cancel: async (task) => {
    const cancelled = new Promise((resolve) => task.cancelled.addEventListener("abort", resolve));
    task.progress("waiting");
    await cancelled;
    return "cancelled";
  },
  text: () => {
    console.log("a remark, not a message");
    return "text";
  },
  big_line: (task) => ({ text: task.context.text }),
  utf8: (task) => ({ text: task.context.text }),
};
