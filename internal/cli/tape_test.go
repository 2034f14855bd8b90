package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/eval/policy"
	tape0 "github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/testkit/conversation"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestTalksReplayed records generated conversations between a program and a host, including
// withdrawn and late messages. It replays each recording without the host.
func TestTalksReplayed(t *testing.T) {
	talk := func(seed uint64) *conversation.Conversation {
		return conversation.Generate(seed, conversation.Options{Level: conversation.Listen})
	}
	show := func(seed uint64) string { return talk(seed).Source() + "\n" + talk(seed).String() }
	randtest.Run(t, "internal/cli", 40, show, func(t *testing.T, seed uint64) {
		k := talk(seed)
		dir := programs(t, map[string]string{"main.conc": k.Source(), "w.host": k.Script(), "Concerto.toml": k.Manifest("testhost", "w.host")})
		p, found, err := engine.Compile("", dir)
		if err != nil || p == nil {
			t.Fatalf("compile: error %v, %d diagnostics\n%s", err, found.Len(), k.Source())
		}
		var live, replayed []string
		emits := func(to *[]string) func(string, json.RawMessage) {
			return func(channel string, payload json.RawMessage) { *to = append(*to, channel+" "+string(payload)) }
		}
		var tape bytes.Buffer
		err = p.Run(t.Context(), engine.Options{WorkDir: dir, Environ: os.Environ(), OnEmit: emits(&live), Records: engine.Records{Tape: &tape}})
		if err != nil {
			t.Fatalf("run the program: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "w.host")); err != nil {
			t.Fatal(err)
		}
		recorded, err := engine.ReadTape(bytes.NewReader(tape.Bytes()))
		if err != nil {
			t.Fatalf("read the tape: %v\n%s", err, &tape)
		}
		unused, n, err := p.Replay(t.Context(), recorded, engine.Options{WorkDir: dir, OnEmit: emits(&replayed)})
		if err != nil || n > 0 {
			t.Errorf("replay: error %v, %d unused entries of kinds %v\n%s", err, n, unused, &tape)
		}
		if diff := cmp.Diff(live, replayed); diff != "" {
			t.Errorf("emits (-live +replayed)\n%s\n%s", diff, &tape)
		}
	})
}

// TestReplaysOfChangedTapesEnd records tapes of generated conversations and of a program with
// concurrent tasks and timers. It removes and changes each entry of the tapes. Each replay must
// end, with the recorded result or with the error that the program diverged from the tape.
func TestReplaysOfChangedTapesEnd(t *testing.T) {
	talk := func(seed uint64) *conversation.Conversation {
		return conversation.Generate(seed, conversation.Options{Level: conversation.Listen})
	}
	show := func(seed uint64) string { return talk(seed).Source() + "\n" + talk(seed).String() }
	diverged := &counts{n: map[string]int{}}
	randtest.Run(t, "internal/cli", 8, show, func(t *testing.T, seed uint64) {
		k := talk(seed)
		changedTapes(t, map[string]string{"main.conc": k.Source(), "w.host": k.Script(), "Concerto.toml": k.Manifest("testhost", "w.host")}, diverged)
	})
	changedTapes(t, map[string]string{"main.conc": besideEachOther, "data.txt": "some text", "Concerto.toml": ""}, diverged)
	changedTapes(t, map[string]string{"main.conc": oneAfterAnother, "Concerto.toml": `
[connections.main]
provider = "scripted"
default_model = "m"
replies = [{ text = "yes", repeat = true }]
`}, diverged)
	for _, kind := range []string{"emit.await", "exchange.open", "exchange.reply", "exchange.close", "sleep", "fs.read", "clock",
		"agent.call", "agent.stream.open", "agent.stream.next", "agent.stream.close", "env", "fs.list", "fs.write", "store.read", "store.write"} {
		if diverged.n[kind] == 0 {
			t.Errorf("no replay diverged from its tape at an effect of kind %s", kind)
		}
	}
}

// counts counts how often each name was added. It is safe for concurrent use.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name]++
}

const besideEachOther = `
async fn ask(n: Int) -> String {
    std::time::sleep(n);
    let text = (await emit("ask ${n}", std::fs::read_file("data.txt")?))?;
    "${text} ${std::time::now().len()} ${std::crypto::uuid()}"
}
fn main() {
    let background = [ask(50), ask(60)];
    let all = parallel for i in 0..3 { ask(i).await };
    emit("all", all);
    emit("first", race (ask(4), ask(5)));
    for t in background { t.cancel(); }
}
`

const oneAfterAnother = `
agent Critic uses main { model: "m" }
hashmap runs: HashMap<String, Int> = HashMap::new().with_persistence();
fn main() {
    emit("said", Critic.execute("Is this safe?")?.text);
    for c in Critic.stream("Is that?") { emit("piece", c.text); }
    emit("home", std::env::get("HOME").is_some());
    std::fs::write_file("out.txt", "text")?;
    emit("files", std::fs::list_dir(".")?.len());
    emit("runs", runs.get("n").unwrap_or(0));
    runs.set("n", 1);
}
`

// changedTapes records the program in files, and replays the tape once for each changed entry. It
// counts the kinds of the effects at which the replays diverged. A comparison of the decisions must
// end, too; with the unchanged tape, all decisions are the same.
func changedTapes(t *testing.T, files map[string]string, diverged *counts) {
	t.Helper()
	dir := programs(t, files)
	p, found, err := engine.Compile("", dir)
	if err != nil || p == nil {
		t.Fatalf("compile: error %v, %d diagnostics\n%v", err, found.Len(), files)
	}
	answer := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"yes"`), nil
	}
	var tape bytes.Buffer
	if err := p.Run(t.Context(), engine.Options{WorkDir: dir, Environ: os.Environ(), OnAwait: answer, Records: engine.Records{Tape: &tape}}); err != nil {
		t.Fatalf("run the program: %v", err)
	}
	compare := func(text string) *policy.Session {
		recorded, err := engine.ReadTape(strings.NewReader(text))
		if err != nil {
			return nil // the tape is rejected before the replay
		}
		r, err := p.ReplayPolicy(t.Context(), recorded, true, engine.Options{WorkDir: dir})
		if err != nil {
			t.Errorf("compare the decisions: %v\n%s", err, text)
			return nil
		}
		return policy.Compare("tape", r)
	}
	if s := compare(tape.String()); s == nil || s.State != policy.Same {
		t.Errorf("with the unchanged tape, the comparison is %+v (%+v), want the state same\n%s", s, s.Problem, &tape)
	}
	lines := strings.SplitAfter(tape.String(), "\n")
	for i := 1; i+2 < len(lines); i++ { // skip the header and the end of the tape
		for _, line := range []string{"", otherEntry(t, lines[i], "r"), otherEntry(t, lines[i], "v"), otherEntry(t, lines[i], "lines")} {
			text := strings.Join(lines[:i], "") + line + strings.Join(lines[i+1:], "")
			compare(text)
			changed, err := engine.ReadTape(strings.NewReader(text))
			if err != nil {
				continue // the tape is rejected before the replay
			}
			_, _, err = p.Replay(t.Context(), changed, engine.Options{WorkDir: dir})
			if d, ok := errors.AsType[*tape0.DivergedError](err); ok {
				diverged.add(string(d.Kind))
			}
		}
	}
}

// TestAdoptIsInterrupted checks that Adopt stops when its context is cancelled, even if the new
// program, which Adopt replays against the run's history, does not terminate.
func TestAdoptIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := programs(t, map[string]string{
		"main.conc":  `fn main() { std::time::sleep(3600000); }`,
		"loops.conc": "fn main() {\n    let mut n = 0;\n    while n >= 0 { n = (n + 1) % 1000; }\n}\n",
	})
	p, _, err := engine.Compile("main.conc", dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var suspended *engine.Suspended
	if err := p.Run(ctx, engine.Options{WorkDir: dir, Records: engine.Records{Durable: &engine.Durable{Dir: filepath.Join(dir, "job")}}}); !errors.As(err, &suspended) {
		t.Fatalf("Run returns %v, want *engine.Suspended", err)
	}
	stored, err := engine.OpenRun(filepath.Join(dir, "job"))
	if err != nil {
		t.Fatal(err)
	}
	loops, _, err := engine.Compile("loops.conc", dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := stored.Adopt(ctx, loops, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Adopt returns %v, want context.Canceled", err)
	}
}

// otherEntry returns the entry of a tape with another value of a member. It returns "" if the entry
// has no such member.
func otherEntry(t *testing.T, line, member string) string {
	t.Helper()
	var entry map[string]any
	if err := json.Unmarshal([]byte(line), &entry); err != nil {
		t.Fatal(err)
	}
	switch v := entry[member].(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[name].(string); ok {
				v[name] = text + " "
				break
			}
		}
	case []any:
		entry[member] = v[:len(v)-1]
	default:
		return ""
	}
	text, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// TestMemoryReplayed checks a program whose memory limit is exceeded at a point that depends on
// when Go collects garbage. A replay must do what the recorded run did, independently of the
// garbage collector.
func TestMemoryReplayed(t *testing.T) {
	t.Parallel()
	if randtest.Raced {
		t.Skip("the memory of the race detector would count")
	}
	dir := programs(t, map[string]string{
		"Concerto.toml": "[limits]\nmax_memory_mb = 4\n",
		"main.conc": `fn main() {
    let mut rounds = 0;
    let mut kept: Array<String> = [];
    for turn in 0..2 {
        try {
            loop {
                rounds += 1;
                let garbage = "some text of round ${rounds}, which nobody keeps".repeat(20);
                kept.push("${garbage.len()} and ${rounds}");
            }
        } catch {
            emit("caught", rounds);
            kept = [];
        }
    }
}
`,
	})
	run := func(collects string, args ...string) string {
		t.Helper()
		c := exec.Command("concerto", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOGC="+collects)
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("concerto failed: %v\n%s", err, &stderr)
		}
		return string(out)
	}
	settings := []string{"50", "off"}
	if randtest.Night() {
		settings = append(settings, "400")
	}
	different := map[string]bool{}
	for i, live := range settings {
		want := run(live, "run", "--record", live+".tape", "main.conc")
		if strings.Count(want, "[caught]") != 2 {
			t.Fatalf("with GOGC=%s the program prints %s, want 2 caught errors", live, want)
		}
		different[want] = true
		for _, setting := range []string{live, settings[(i+1)%len(settings)]} {
			if got := run(setting, "runs", "replay", live+".tape", "main.conc"); got != want {
				t.Errorf("recorded with GOGC=%s:\n%sreplayed with %s:\n%s", live, want, setting, got)
			}
		}
	}
	if len(different) == 1 {
		t.Log("Go's collector made no difference this time")
	}
}
