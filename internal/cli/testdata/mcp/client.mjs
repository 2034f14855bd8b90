// Calls a program that `concerto mcp serve` serves, through the protocol's own
// client, which checks results against the schemas that tools announce.
// node client.mjs SDK COMMAND ARGS…
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${sdk}/dist/esm/client/${file}.js`).href);
const { Client } = await load("index");
const { StdioClientTransport } = await load("stdio");

const client = new Client({ name: "reference", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
const { tools } = await client.listTools();
console.log(tools.map((t) => `${t.name}(${Object.keys(t.inputSchema.properties)})${t.outputSchema ? " typed" : ""}`).join(" "));

async function call(name, given, options) {
  try {
    const r = await client.callTool({ name, arguments: given }, undefined, options);
    console.log(name, r.isError ? "error" : "gives", r.content[0].text, JSON.stringify(r.structuredContent ?? null));
  } catch (e) {
    console.log(name, "ended:", e.message.replace(/^MCP error -?\d+: /, ""));
  }
}

await call("T_point", {});
await call("T_maybe", { yes: true });
await call("T_maybe", { yes: false });
await call("T_shape", {});
await call("T_trees", {});
await call("T_text", {});
await call("T_text", { extra: 1 });
await call("Write", { topic: { title: "ab" } });
await call("Write", { topic: {} });
const stop = new AbortController();
let held;
await new Promise((begun) => {
  held = call("T_hold", {}, { signal: stop.signal, onprogress: (p) => begun(console.log(p.progress, p.message)) });
});
await call("T_text", {}); // beside it
stop.abort("enough");
await held;
await call("T_hold", { no: true }); // alone: the other has ended
await client.close();
