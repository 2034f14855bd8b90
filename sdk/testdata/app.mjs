// An application for the tests of concerto.ts: does what its first argument says, at the
// server that the others name, and prints what comes of it, a JSON array a line.
import { createInterface } from "node:readline";
import { Concerto, ConnectionLost, RequestError, SessionError, ToolError } from "../typescript/concerto.js";

const [scenario, url, token] = process.argv.slice(2);
const plain = { type: "object" };
const never = new Promise((resolve) => setTimeout(resolve, 2 ** 30).unref());

function say(...what) {
  process.stdout.write(JSON.stringify(what) + "\n");
}

function server(more) {
  if (url === "stdio") return Concerto.stdio({ flags: ["--max-message", "1000000", ...(process.env.FLAG ? [process.env.FLAG] : [])], cwd: "testdata/app" });
  return Concerto.connect(url, token, more);
}

/** What comes of something, or goes wrong with it. */
async function outcome(work) {
  try {
    return (await work) ?? null;
  } catch (e) {
    if (e instanceof ToolError) return ["ToolError", e.outcome, e.message];
    if (e instanceof SessionError) return ["SessionError", e.kind, e.message, e.trace.map((p) => p.function)];
    if (e instanceof RequestError) return ["RequestError", e.code, e.message];
    if (e instanceof ConnectionLost) return ["ConnectionLost", e.message];
    throw e;
  }
}

async function all(session) {
  const events = [];
  for await (const e of session) events.push(e);
  return events;
}

const dense = (events) => events.every((e, i) => e.seq === i + 1);

/** Of an event, what is the same each time. */
function seen(e) {
  if (e.type === "tool") return [e.type, e.phase, e.tool, e.by, e.route, e.outcome ?? null];
  if (e.type === "state") return [e.type, e.state, e.result ?? null];
  if (typeof e.payload === "object" && e.payload) delete e.payload.call_id;
  return [e.type, e.channel ?? null, e.type === "emit" ? e.payload : e.text ?? e.message, e.awaited ?? false];
}

function once() {
  let set;
  const done = new Promise((resolve) => (set = resolve));
  return { set, done };
}

const scenarios = {
  /** Prints the events of a session of each server that the test plays, whose addresses come by standard input. */
  async streams() {
    for await (const address of createInterface({ input: process.stdin })) {
      const c = await Concerto.connect(address);
      for await (const e of await c.session("s1")) say(e.seq, e.type, e.text ?? null);
      await c.close();
    }
  },

  async flow() {
    const c = await server();
    const ids = [];
    let session;
    c.tool({ name: "stock", description: "Pieces in stock", category: "shop", parameters: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] } },
      async (input, ctx) => {
        ids.push(ctx.session_id); // the call may come before run() gives the session
        await ctx.progress(1, 2, "counting");
        await ctx.emit("shelf", [ctx.environment, ctx.metadata, ctx.by, ctx.route, ctx.chain]);
        return ctx.call("double", { text: input.sku });
      });
    c.tool({ name: "double", description: "Doubles", parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } }, (input, ctx) => {
      ctx.emit("route", [ctx.route, ctx.by, ctx.chain]);
      return { twice: input.text.repeat(2) };
    });
    const fails = () => {
      throw new Error("no disk");
    };
    c.tool({ name: "fails", description: "Fails", parameters: plain }, fails);
    c.tool({ name: "refuses", description: "Refuses", parameters: plain }, async () => ({ success: false, error: "not today" }));
    c.tool({ name: "no_json", description: "Gives what is no JSON" }, () => () => 1);
    c.tool({ name: "large", description: "Gives much" }, () => "é".repeat(100_000));
    c.tool({ name: "too_large", description: "Gives too much" }, () => "x".repeat(1_000_001));
    c.on_await("approve", (a) => "yes, " + a.sku);
    c.on_await("broken", async (n) => {
      throw new Error(`broken ${n}`);
    });
    session = await c.run("flow.conc", { inputs: { n: Number.MAX_SAFE_INTEGER }, environment: { TEAM: "a" }, metadata: { user: "ada" } });
    const events = await all(session);
    say("dense", dense(events));
    for (const e of events) say(...seen(e));
    say("result", await outcome(session.result()), session.state, session.usage.calls);
    say("again", (await all(session)).length === events.length, ids.join() === session.id);
    say("tools", (await c.tools()).map((t) => t.name), (await c.tools({ category: "shop" })).map((t) => t.name));
    say("call", await outcome(c.call("double", { text: "a" })));
    say("arguments", await outcome(c.call("double", { text: 1 })));
    say("missing", await outcome(c.call("treble")));
    say("too large", await outcome(c.call("too_large")));
    say("unregister", await c.unregister("double"), await c.unregister("double"));
    say("gone", await outcome(c.call("double", { text: "a" })));
    c.tool({ name: "fails", description: "Fails again" }, fails);
    say("duplicate", await outcome(c.registered()));
    say("fails", await outcome((await c.run("fails.conc")).result()));
    say("wrong", await outcome(c.run("wrong.conc")));
    say("no program", await outcome(c.run("none.conc")));
    say("budget", await outcome(c.run("hangs.conc", { budget: { max_tokens: -1 } })));
    let [begun, ended] = [once(), once()];
    c.tool({ name: "hangs", description: "Waits" }, async (_, ctx) => {
      begun.set();
      await new Promise((resolve) => ctx.cancelled.addEventListener("abort", resolve));
      say("cancelled", ctx.cancelled.aborted);
      ended.set();
    });
    session = await c.run("hangs.conc");
    await begun.done;
    await session.cancel("enough of it");
    await ended.done;
    say("cancel", await outcome(session.result()), session.state);
    await c.close();
    say("closed", await outcome(c.run("flow.conc")));
  },

  async steps() {
    const c = await server();
    const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
    // The first call may arrive before the answer to the start of the session. If the test cut the
    // connection in between, it would be unknown whether the session was started.
    let start;
    const started = new Promise((resolve) => {
      start = resolve;
    });
    c.tool({ name: "step", description: "A step" }, async ({ i }, ctx) => {
      await started;
      await ctx.progress(i);
      say("step", i);
      await lines.next();
      return i * 10;
    });
    const session = await c.run("steps.conc");
    start();
    const events = await all(session);
    say("dense", dense(events));
    say("steps", events.filter((e) => e.type === "emit" && e.channel === "step").map((e) => e.payload));
    say("result", await session.result());
    await c.close();
    process.stdin.destroy();
  },

  async renewed() {
    const c = await server();
    c.tool({ name: "step", description: "A step" }, ({ i }) => i);
    c.tool({ name: "hangs", description: "Waits" }, () => {
      say("hangs");
      return never;
    });
    const session = await c.run("hangs.conc");
    const before = c.client_id;
    const lost = await outcome(session.result());
    say("lost", lost.slice(0, 2), lost[2].startsWith(`the server does not know session ${session.id} any more`), c.client_id !== before);
    say("again", await (await c.run("steps.conc")).result());
    await c.close();
  },

  async dies() {
    const c = await server({ patience: 0.1 });
    c.tool({ name: "hangs", description: "Waits" }, () => {
      say("hangs");
      return never;
    });
    const session = await c.run("hangs.conc");
    say("result", await outcome(session.result()));
    say("events", await outcome(all(session)));
    say("call", await outcome(c.call("hangs")));
    await c.close();
  },

  async connects() {
    say(...(await outcome(server())));
  },
};

await scenarios[scenario]();
