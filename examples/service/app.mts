// A shop whose customers are served by an agent. The shop knows the stock and approves orders.
import { Concerto } from "../../sdk/typescript/concerto.js";

const shelves: Record<string, number> = { lamp: 3, chair: 0 };
const addresses: Record<string, string> = { ada: "12 Byron Street" };
const item = { type: "string" };

const concerto = await Concerto.stdio();

concerto.tool({
  name: "stock",
  description: "How many pieces of an item there are",
  parameters: { type: "object", properties: { item }, required: ["item"] },
}, (input) => shelves[input.item]);

concerto.tool({
  name: "order",
  description: "Pack pieces of an item for the customer",
  parameters: { type: "object", properties: { item, pieces: { type: "integer" } }, required: ["item", "pieces"] },
  requires_approval: true,
}, async (input, ctx) => {
  const left = await ctx.call("stock", { item: input.item }) - input.pieces;
  if (left < 0) throw new Error(`there are no ${input.pieces} of ${input.item}`);
  for (let n = 1; n <= input.pieces; n++) await ctx.emit("packed", `${input.item} ${n}`);
  shelves[input.item] = left;
  return { left };
});

concerto.on_await("tool:approval", (ask) =>
  ask.args.pieces > 10
    ? { decision: "deny", reason: "ten pieces at most" }
    : { decision: "allow", args_sha256: ask.args_sha256 });

concerto.on_await("address", (ask) => addresses[ask.user]);

const session = await concerto.run("main.conc", { inputs: { item: "lamp", pieces: 2 }, metadata: { user: "ada" } });
for await (const event of session) {
  if (event.type === "emit" && event.channel === "packed") console.log("packed:", event.payload);
  else if (event.type === "tool" && event.phase === "end") console.log(`${event.by} called ${event.tool}: ${event.outcome}`);
}
console.log(await session.result());
await concerto.close();
