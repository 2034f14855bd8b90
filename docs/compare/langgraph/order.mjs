// Pays for an order and asks a person whether to ship it. Usage:
//
//	node order.mjs run        start the order, or continue it after a crash
//	node order.mjs true       answer the question and continue
//
// FORM=one puts the payment and the question into one node; otherwise each has a node of its own.
import { execFileSync } from "node:child_process";
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const State = Annotation.Root({ payment: Annotation(), ship: Annotation() });

const pay = () => ({ payment: execFileSync("sh", [process.env.PAY], { encoding: "utf8" }).trim() });
const ask = () => ({ ship: interrupt("Ship order 7?") });

const graph = new StateGraph(State);
if (process.env.FORM === "one") {
  graph.addNode("order", () => ({ ...pay(), ...ask() })).addEdge(START, "order").addEdge("order", END);
} else {
  graph.addNode("pay", pay).addNode("approve", ask).addEdge(START, "pay").addEdge("pay", "approve").addEdge("approve", END);
}
const app = graph.compile({ checkpointer: SqliteSaver.fromConnString("order.db") });
const config = { configurable: { thread_id: "order 7" }, durability: "sync" };

const stored = await app.getState(config);
let input = null; // continue with the stored state
if (process.argv[2] !== "run") input = new Command({ resume: process.argv[2] === "true" });
else if (!stored.next.length) input = {};
const result = await app.invoke(input, config);
console.log(result.__interrupt__ ? `waiting: ${result.__interrupt__[0].value}` : `done: ${result.ship ? "shipped" : "kept"}`);
