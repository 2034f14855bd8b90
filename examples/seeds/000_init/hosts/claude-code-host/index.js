// The seed's TypeScript middleware as plain JavaScript, with a stand-in for the
// coding agent.
const readline = require("readline");

const rl = readline.createInterface({ input: process.stdin });

async function runAgent(text, { cwd, model, allowedTools }) {
  return `${text}: done by ${model} in ${cwd} with ${allowedTools.join(", ")}`;
}

async function main() {
  const lines = rl[Symbol.asyncIterator]();

  // Step 1: Read init message
  const initMsg = JSON.parse((await lines.next()).value);

  if (initMsg.type !== "init") {
    console.error("Expected init message");
    process.exit(1);
  }

  const { work_dir, model, allowed_tools } = initMsg.params;

  // Step 2: Acknowledge
  console.log(JSON.stringify({ type: "init_ack", version: "1.0.0" }));

  // Step 3: Handle prompts
  for await (const line of { [Symbol.asyncIterator]: () => lines }) {
    const msg = JSON.parse(line);
    if (msg.type === "prompt") {
      console.log(JSON.stringify({ type: "progress", message: "Analyzing codebase...", percent: 10 }));
      // Use params to configure the tool execution
      const result = await runAgent(msg.text, { cwd: work_dir, model, allowedTools: allowed_tools });
      console.log(JSON.stringify({ type: "result", text: result }));
    }
  }
}

main();
