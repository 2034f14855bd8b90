package sim

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
)

// Workload is a program with its manifest, and how it is run.
type Workload struct {
	Text     string
	Manifest string
	Sync     string // [run] sync
	Wait     bool   // run with --wait, otherwise with --park
	blocks   []*block
	program  *engine.Program
}

// outcomes returns the number of outcomes of a crash that can happen: without the sync of every
// record, a power cut may repeat changes of files and stores (spec/26-durable.md, when data is
// written).
func (w *Workload) outcomes() outcome {
	if w.Sync == "every" {
		return outcomeCount
	}
	return powerNone
}

// block is a function of the program. check returns what is wrong with its value, or "".
type block struct {
	name  string
	text  string
	check func(w *world, value string) string
}

// blockKind is a kind of block. Its text contains %s for the block's name.
type blockKind struct {
	weight int
	text   string
	check  func(w *world, name, value string) string
}

// blockKinds are the kinds of blocks. A block that fails returns a text that begins with "failed".
var blockKinds = []blockKind{
	{3, `match http::get(url("%s")) { Ok(r) => r.body, Err(e) => "failed, ${e.unknown}: ${e.message}" }`, sent("GET")},
	{3, `match http::put(url("%s"), "text") { Ok(r) => r.body, Err(e) => "failed, ${e.unknown}: ${e.message}" }`, sent("PUT")},
	{5, `match http::post(url("%s"), { n: 1 }) { Ok(r) => r.body, Err(e) => "failed, ${e.unknown}: ${e.message}" }`, sent("POST")},
	{3, `counts.increment("%[1]s");
    let n = counts.get("%[1]s").unwrap_or(0);
    if n == 1 { "once" } else { "${n} times" }`, is("once")},
	{2, `fs::append_file("%[1]s.txt", "a")?;
    fs::append_file("%[1]s.txt", "b")?;
    fs::copy_file("%[1]s.txt", "%[1]s.copy")?;
    fs::move_file("%[1]s.copy", "%[1]s.moved")?;
    fs::read_file("%[1]s.moved").unwrap_or("failed")`, is("ab")},
	{2, `time::sleep(%[2]d);
    "%[1]s has slept"`, is("%s has slept")},
	{3, `match await emit<String>("ask", "%s") { Ok(v) => v, Err(e) => "failed, false: ${e.message}" }`, answeredBy},
	{3, `match Model.execute("%s") { Ok(r) => r.text, Err(e) => "failed, false: ${e.message}" }`, replied},
	{2, `race ({ time::sleep(%[2]d); "late" }, { await emit<String>("ask", "%[1]s").unwrap_or("failed") })`, lateOrAnswered},
	{2, `let id = jobs.add("%[1]s", id: "%[1]s").unwrap_or("failed");
    let item = jobs.get(id);
    if let Some(i) = item { "${i.value} ${i.attempts}" } else { "failed" }`, is("%s 0")},
	{3, `match listen Worker.execute("%s") {
        "question" => |q: HostQuestion| await emit("ask", q.question).unwrap_or("none"),
        "approval" => |a: HostApproval| if let Ok(v) = await emit("host:approval", a.description) { v } else { "no" },
    } { Ok(r) => "${r.text}", Err(e) => "failed, true: ${e.message}" }`, worked},
}

// head is the beginning of all programs.
const head = `use std::{env, fs, http, time};
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("STORES/counts.db");
queue jobs: Queue<String> = Queue::new().with_persistence("STORES/jobs.db");
agent Model uses m { }
host Worker { connector: worker, output_format: "json", timeout: 100000 }
fn url(name: String) -> String { env::get("SERVER").unwrap_or("") + "/" + name }
`

// Generate generates a workload.
func Generate(seed uint64) *Workload {
	r := newRandom(seed)
	w := &Workload{Sync: []string{"output", "every"}[r.IntN(2)], Wait: r.IntN(3) == 0, Manifest: "[connections.m]\nprovider = \"scripted\"\n[hosts.worker]\ncommand = \"worker\"\ninit = true\n"}
	if r.IntN(3) == 0 {
		w.Manifest += "[run.unknown]\nhttp = \"" + []string{"retry", "fail"}[r.IntN(2)] + "\"\n"
	}
	var body strings.Builder
	var values []string
	for n := 1 + r.IntN(4); n > 0; n-- {
		var names []string
		for range 1 + r.IntN(3) {
			b := newBlock(r, fmt.Sprintf("b%d", len(w.blocks)+1))
			w.blocks = append(w.blocks, b)
			names = append(names, b.name)
		}
		body.WriteString(composed(names))
		for _, name := range names {
			values = append(values, "v_"+name)
		}
	}
	// Without a keeper, hosts end with their process, so such a program must not park.
	w.Wait = w.Wait || slices.ContainsFunc(w.blocks, func(b *block) bool { return strings.Contains(b.text, "listen") })
	text := head
	for _, b := range w.blocks {
		text += fmt.Sprintf("fn %s() -> String {\n    %s\n}\n", b.name, b.text)
	}
	w.Text = text + "fn main() {\n" + body.String() + "    emit(\"all\", [" + strings.Join(values, ", ") + "]);\n}\n"
	return w
}

// composed returns a statement that runs blocks concurrently, and emits their values.
func composed(names []string) string {
	calls, values := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		calls[i], values[i] = fmt.Sprintf("{ let v = %s(); emit(%q, v); v }", n, n), "v_"+n
	}
	if len(names) == 1 {
		return fmt.Sprintf("    let %s = %s;\n", values[0], calls[0])
	}
	return fmt.Sprintf("    let (%s) = await (%s);\n", strings.Join(values, ", "), strings.Join(calls, ", "))
}

func newBlock(r *rand.Rand, name string) *block {
	sum := 0
	for _, k := range blockKinds {
		sum += k.weight
	}
	n := r.IntN(sum)
	for _, k := range blockKinds {
		if n -= k.weight; n < 0 {
			ms := []int{1, 900, 20_000, 3_600_000}[r.IntN(4)]
			text := k.text
			if strings.Contains(text, "%[2]d") {
				text = fmt.Sprintf(text, name, ms)
			} else if strings.Contains(text, "%[1]s") {
				text = strings.ReplaceAll(text, "%[1]s", name)
			} else {
				text = fmt.Sprintf(text, name)
			}
			return &block{name, text, func(w *world, value string) string { return k.check(w, name, value) }}
		}
	}
	panic("sim: no kind was chosen")
}

// compile compiles the program, whose stores are below a directory.
func (w *Workload) compile(t *testing.T, base string) {
	t.Helper()
	w.program = compileText(t, strings.ReplaceAll(w.Text, "STORES", filepath.Join(base, "work")), w.Manifest)
}
