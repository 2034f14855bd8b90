package engine

import (
	"path/filepath"
	"strings"
	"testing"
)

// auditFile is the name of the audit log of programs that call tools.
const auditFile = "audit.log"

// simPrograms returns the programs that are crashed.
func simPrograms(t *testing.T, work string) map[string]*Program {
	t.Helper()
	all := map[string]string{
		"requests": `use std::http;
fn main() {
    let url = std::env::get("SERVER")?;
    emit("get", http::get(url + "/g")?.body);
    emit("put", http::put(url + "/u", "text")?.status);
    emit("post", http::post(url + "/o", { n: 1 })?.body);
}`,
		"last answer": `fn main() {
    emit("begun", 1);
    let _ = await emit<String>("ask", 2)?;
}`,
		"timers": `use std::time;
async fn after(n: Int) -> Int { time::sleep(n); emit("after", n); n }
fn main() {
    let (a, b) = await (after(1800 * 1000), after(3600 * 1000));
    emit("sum", a + b);
}`,
		"tasks": `use std::{http, time};
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("counts.db");
async fn one(n: Int) -> Int {
    time::sleep(n % 3);
    counts.increment("n");
    http::put(std::env::get("SERVER")? + "/r${n}", "x")?.status
}
async fn ask(n: Int) -> String { await emit<String>("ask", n).unwrap_or("none") }
fn main() {
    let (a, b, c) = await (one(1), one(2), one(3));
    emit("sum", a + b + c);
    let (x, y) = (ask(1), ask(2));
    emit("both", x.await + y.await);
    emit("n", counts.get("n"));
}`,
	}
	all["tools"] = `fn main() {
    emit("first", dispatch_tool("order", { sku: "a" }));
    emit("second", dispatch_tool("order", { sku: "b" }));
    emit("ask", await emit<String>("ask", "again?")?);
    emit("third", dispatch_tool("order", { sku: "c" }));
}`
	manifests := map[string]string{"tools": "[audit]\nfile = '" + filepath.Join(work, auditFile) + "'\n"}
	for _, name := range []string{"files", "agent", "questions", "questions, replayed"} {
		all[name], manifests[name] = durablePrograms[name].program, durablePrograms[name].manifest
	}
	programs := map[string]*Program{}
	for name, text := range all {
		text = strings.ReplaceAll(text, "counts.db", filepath.Join(work, "counts.db"))
		programs[name] = compile(t, map[string]string{"main.conc": text, "Concerto.toml": manifests[name]})
	}
	return programs
}
