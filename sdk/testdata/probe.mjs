// Does what a test asks for by its prompt, with every part of the SDK.
import { Refused, serve } from "../typescript/concerto-host.js";

async function work(task) {
  const [what, rest] = task.text.split(" ");
  switch (what) {
    case "ask":
      for (let i = 0; i < Number(rest); i++) {
        if ((await task.ask(`question ${i}`)) !== `question ${i}`) throw new Error(`question ${i} has another's answer`);
      }
      return { answered: Number(rest) };
    case "decide":
      return { ...(await task.approve("do it", { args: { a: 1 } })) };
    case "say":
      console.log("printed");
      task.progress("half", { percent: 49.6, stage: "s", usage: { tokens_in: 3, tokens_out: 2, tokens_cached: 1 }, cost_usd: 0.5, turns: 4 });
      task.planLimit("5h", "near", { used_percent: 81.5, resets_at: "2026-02-18T05:00:00Z" });
      task.log("warn", "careful");
      task.partial("piece", "m");
      task.retract(["m"]);
      return [await task.call("sum", [1, 2]), "é\u2028"];
    case "withdraw": {
      const fields = { options: ["a"], questions: [{ question: "b" }], schema: { type: "string" }, id: "w" };
      const taken = task.ask("taken back", fields).catch((e) => e.message);
      await task.ask("go on?");
      task.withdraw("w");
      return await taken;
    }
    case "refused":
      try {
        return await task.ask("anything");
      } catch (e) {
        if (e instanceof Refused) return { refused: e.message, cancelled: task.cancelled.aborted };
        throw e;
      }
    case "fail":
      throw Object.assign(new Error("no disk"), { code: "E7" });
    case "steered":
      await task.ask("go on?");
      return { messages: task.messages(), rest: task.messages(), queued: task.queued };
    case "given":
      return { context: task.context ?? null, schema: task.schema ?? null, params: task.params, session: task.session ?? null, tools: task.tools };
  }
  return "as text: " + task.text;
}

function init(params) {
  if (params.model === "unknown") throw new Error("there is no such model");
  return { version: "1.2.3" };
}

await serve(work, { init, capabilities: ["cancel", "tools"] });
