package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// Workload is a program that consists of blocks, and how it is run.
type Workload struct {
	Steps   [][]Block `json:"steps"`             // the blocks of a step run concurrently
	Sync    string    `json:"sync"`              // [run] sync
	Wait    bool      `json:"wait,omitempty"`    // run with --wait, otherwise with --park
	Unknown string    `json:"unknown,omitempty"` // [run.unknown] http; "" for none
	program *engine.Program
}

// Block is a function of the program.
type Block struct {
	Name string `json:"name"`
	Kind string `json:"kind"`         // key of kinds
	Ms   int    `json:"ms,omitempty"` // for a block that sleeps: milliseconds
}

// kind is a kind of block. In its text, NAME and MS mean the block's name and its duration. A
// block that fails returns a text that begins with "failed". check returns what is wrong with the
// block's value, or "".
type kind struct {
	weight int
	head   string // what precedes the function
	text   string
	check  func(w *world, name, value string) string
}

// requesting returns the text of a block that sends a request.
func requesting(call string) string {
	return "match " + call + ` { Ok(r) => r.body, Err(e) => "failed, ${e.unknown}: ${e.message}" }`
}

// listening returns the text of a block that works with a host. Before it answers the first
// question, it sends the message "NAME more" by a method of the host; "" for none.
func listening(host, method string) string {
	send := ""
	if method != "" {
		send = `if q.question == "question NAME" {
                emit("steered", "NAME: " + (match HOST.METHOD("NAME more") { Ok(s) => "${s}", Err(e) => "refused: ${e.message}" }));
            }`
	}
	return strings.NewReplacer("HOST", host, "METHOD", method).Replace(`match listen HOST.execute("NAME") {
        "question" => |q: HostQuestion| {
            ` + send + `
            await emit("ask", q.question).unwrap_or("none")
        },
        "approval" => |a: HostApproval| if let Ok(v) = await emit("host:approval", a.description) { v } else { "no" },
        "progress" => |p: HostProgress| { emit("line", p.message); },
    } { Ok(r) => "${r.text}", Err(e) => "failed: ${e.message}" }`)
}

// kinds are the kinds of blocks.
var kinds = map[string]kind{
	"get":        {3, "", requesting(`http::get(url("NAME"))`), sent},
	"put":        {3, "", requesting(`http::put(url("NAME"), "text")`), sent},
	"post":       {5, "", requesting(`http::post(url("NAME"), { n: 1 })`), sent},
	"post-retry": {2, `@on_unknown("retry")`, requesting(`http::post(url("NAME"), { n: 1 })`), sent},
	"post-fail":  {2, `@on_unknown("fail")`, requesting(`http::post(url("NAME"), { n: 1 })`), sent},
	"count": {3, "", `match try { counts.increment("NAME") } {
        Ok(n) => if n == 1 { "once" } else { "${n} times" },
        Err(e) => "failed: ${e.message}",
    }`, is("once")},
	"file": {2, "", `fs::append_file("NAME.txt", "a")?;
    fs::append_file("NAME.txt", "b")?;
    fs::copy_file("NAME.txt", "NAME.copy")?;
    fs::move_file("NAME.copy", "NAME.moved")?;
    fs::read_file("NAME.moved").unwrap_or("failed")`, is("ab")},
	"sleep": {2, "", `let from = time::now_ms();
    time::sleep(MS);
    "slept ${time::now_ms() - from}"`, slept},
	"ask":    {3, "", `match await emit<String>("ask", "NAME") { Ok(v) => v, Err(e) => "failed: ${e.message}" }`, answeredBy},
	"refuse": {1, "", `match await emit<String>("refuse", "NAME") { Ok(v) => v, Err(e) => "${e.reason}: ${e.message}" }`, is("refused: NAME is refused")},
	"number": {1, "", `match await emit<Int>("number", "NAME") { Ok(v) => "${v}", Err(e) => "failed: ${e.message}" }`, is("7")},
	"model":  {3, "", `match Model.execute("NAME") { Ok(r) => r.text, Err(e) => "failed: ${e.message}" }`, replied},
	"race":   {2, "", `race ({ time::sleep(MS); "late" }, { await emit<String>("ask", "NAME").unwrap_or("failed") })`, lateOrAnswered},
	"cancel": {1, "async fn NAME_other() -> String { time::sleep(3600000); await emit<String>(\"ask\", \"NAME, never\").unwrap_or(\"\") }", `let t = NAME_other();
    time::sleep(MS);
    t.cancel();
    "cancelled"`, is("cancelled")},
	"queue": {2, "", `match try { let id = jobs.add("NAME", id: "NAME").unwrap_or("failed"); jobs.get(id) } {
        Ok(x) => if let Some(i) = x { "${i.value} ${i.attempts}" } else { "failed" },
        Err(e) => "failed: ${e.message}",
    }`, is("NAME 0")},
	"host":           {2, "", listening("Worker", ""), worked},
	"host-resume":    {2, "", listening("Resumer", ""), worked},
	"host-queue":     {2, "", listening("Resumer", "steer"), worked},
	"host-steer":     {2, "", listening("Pilot", "steer"), worked},
	"host-interrupt": {1, "", listening("Worker", "interrupt"), worked},
}

// sleeps contains the durations of blocks in milliseconds.
var sleeps = []int{1, 900, 20_000, 3_600_000}

// head is the beginning of all programs. STORES means the directory of the stores.
const head = `use std::{env, fs, http, time};
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("STORES/counts.db");
queue jobs: Queue<String> = Queue::new().with_persistence("STORES/jobs.db");
agent Model uses m { }
host Worker { connector: worker, output_format: "json", timeout: 100000 }
host Resumer { connector: resumer, output_format: "json", timeout: 100000 }
host Pilot { connector: pilot, output_format: "json", timeout: 100000 }
fn url(name: String) -> String { env::get("SERVER").unwrap_or("") + "/" + name }
`

// Generate generates a workload. Its blocks are of the given kinds. Without kinds, all occur, by
// their weights.
func Generate(seed uint64, only ...string) *Workload {
	r := newRandom(seed)
	w := &Workload{Sync: []string{"output", "every"}[r.IntN(2)], Wait: r.IntN(3) == 0}
	if r.IntN(3) == 0 {
		w.Unknown = []string{"retry", "fail"}[r.IntN(2)]
	}
	names := only
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		if len(only) == 0 {
			names = append(names, slices.Repeat([]string{k}, kinds[k].weight)...)
		}
	}
	n := 0
	for range 1 + r.IntN(4) {
		var step []Block
		for range 1 + r.IntN(3) {
			n++
			step = append(step, newBlock(r, fmt.Sprintf("b%d", n), names[r.IntN(len(names))]))
		}
		w.Steps = append(w.Steps, step)
	}
	return w
}

func newBlock(r *rand.Rand, name, kind string) Block {
	b := Block{Name: name, Kind: kind}
	if strings.Contains(kinds[kind].text, "MS") {
		b.Ms = sleeps[r.IntN(len(sleeps))]
	}
	return b
}

// blocks returns all blocks.
func (w *Workload) blocks() []Block { return slices.Concat(w.Steps...) }

// block returns the block with a name.
func (w *Workload) block(name string) (b Block, ok bool) {
	all := w.blocks()
	i := slices.IndexFunc(all, func(b Block) bool { return b.Name == name })
	if i < 0 {
		return b, false
	}
	return all[i], true
}

// fill replaces the names in a text of the block's kind.
func (b Block) fill(text string) string {
	return strings.NewReplacer("NAME", b.Name, "MS", strconv.Itoa(b.Ms)).Replace(text)
}

// Text returns the program.
func (w *Workload) Text() string {
	var text, body strings.Builder
	text.WriteString(head)
	var values []string
	for _, step := range w.Steps {
		var calls, results []string
		for _, b := range step {
			k := kinds[b.Kind]
			fmt.Fprintf(&text, "%s\nfn %s() -> String {\n    %s\n}\n", b.fill(k.head), b.Name, b.fill(k.text))
			calls = append(calls, fmt.Sprintf("{ let v = %s(); emit(%q, v); v }", b.Name, b.Name))
			results = append(results, "v_"+b.Name)
		}
		values = append(values, results...)
		if len(step) == 1 {
			fmt.Fprintf(&body, "    let %s = %s;\n", results[0], calls[0])
		} else {
			fmt.Fprintf(&body, "    let (%s) = await (%s);\n", strings.Join(results, ", "), strings.Join(calls, ", "))
		}
	}
	fmt.Fprintf(&text, "fn main() {\n%s    emit(\"all\", [%s]);\n}\n", &body, strings.Join(values, ", "))
	return text.String()
}

// manifest returns the program's manifest.
func (w *Workload) manifest() string {
	text := "[connections.m]\nprovider = \"scripted\"\n"
	for _, connector := range []string{"worker", "resumer", "pilot"} {
		text += fmt.Sprintf("[hosts.%s]\ncommand = \"/bin/sh\"\ninit = true\n", connector)
	}
	if w.Unknown != "" {
		text += fmt.Sprintf("[run.unknown]\nhttp = %q\n", w.Unknown)
	}
	return text
}

// policy returns what happens to a request of a block whose outcome is unknown.
func (w *Workload) policy(b Block) string {
	switch b.Kind {
	case "post-retry":
		return "retry"
	case "post-fail":
		return "fail"
	}
	return w.Unknown
}

// outcomes returns the number of outcomes of a crash that can happen: without the sync of every
// record, a power cut may repeat changes of files and stores (spec/26-durable.md, when data is
// written).
func (w *Workload) outcomes() simdisk.Outcome {
	if w.Sync == "every" {
		return simdisk.Outcomes
	}
	return simdisk.PowerNone
}

// check fails the test if the workload, which may be from a file, has blocks of unknown kinds.
func (w *Workload) check(t *testing.T) {
	t.Helper()
	for _, b := range w.blocks() {
		if _, ok := kinds[b.Kind]; !ok {
			t.Fatalf("block %s has the unknown kind %q", b.Name, b.Kind)
		}
	}
}

// compile compiles the program, whose stores are below a directory.
func (w *Workload) compile(t *testing.T, base string) {
	t.Helper()
	w.check(t)
	if w.program == nil {
		w.program = compileText(t, strings.ReplaceAll(w.Text(), "STORES", filepath.Join(base, "work")), w.manifest())
	}
}
