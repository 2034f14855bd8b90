package sdk_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// consumer is a program that uses both SDKs with their types.
const consumer = `import { Concerto, RequestError, type Event, type ToolContext } from "@concerto-lang/sdk";
import { serve, Refused, type Decision, type Task } from "@concerto-lang/sdk/host";

export async function app(): Promise<string> {
  const c: Concerto = await Concerto.stdio({ flags: ["--root", "."] });
  await c.tool({ name: "stock", description: "Pieces", parameters: {} }, async (input, ctx: ToolContext) => ctx.session_id.length);
  const session = await c.run("main.conc", { inputs: { sku: "a1" } });
  for await (const event of session) {
    const e: Event = event;
    if (e.seq > 9) await session.cancel("enough");
  }
  return session.state;
}

export async function work(task: Task): Promise<{ text: string }> {
  task.progress("reading", { percent: 10 });
  const may: Decision = await task.approve("delete", { tool: "rm", kind: "delete" });
  return { text: may.allow ? "done" : may.reason };
}

// @ts-expect-error the percentage is a number
export const wrong = (task: Task) => task.progress("reading", { percent: "10" });

if (new Refused("no").name !== "Refused" || new RequestError("no").code !== -32603 || typeof serve !== "function") throw new Error("wrong");
console.log("imported");
`

// TestNpmPackage packs the TypeScript SDKs, installs the package into a new project, and compiles
// and runs a program there that uses them.
func TestNpmPackage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"npm", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	dir := t.TempDir()
	source, err := filepath.Abs("typescript")
	if err != nil {
		t.Fatal(err)
	}
	var packed []struct {
		Filename string
		Files    []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(run(t, dir, "npm", "pack", "--json", source)), &packed); err != nil || len(packed) != 1 {
		t.Fatalf("npm pack returned %+v, %v", packed, err)
	}
	for _, f := range packed[0].Files {
		if strings.HasSuffix(f.Path, ".ts") && !strings.HasSuffix(f.Path, ".d.ts") {
			t.Errorf("the package contains the source %s", f.Path)
		}
	}
	for name, text := range map[string]string{
		"package.json": `{ "name": "consumer", "private": true, "type": "module" }`,
		"consumer.ts":  consumer,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", filepath.Join(dir, packed[0].Filename))
	tsc, err := filepath.Abs("../bin/npm/node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tsc); err != nil {
		t.Skip("the compiler of TypeScript is not installed: run `make sdk`")
	}
	for _, resolution := range [][]string{{"--module", "es2022", "--moduleResolution", "bundler"}, {"--module", "nodenext", "--moduleResolution", "nodenext"}} {
		run(t, dir, tsc, append([]string{"--strict", "--target", "es2022", "--lib", "es2022,dom,dom.asynciterable", "--typeRoots", "none", "consumer.ts"}, resolution...)...)
		if out := run(t, dir, "node", "consumer.js"); out != "imported\n" {
			t.Errorf("output of the consumer = %q", out)
		}
	}
}
