package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/internal/seeds"
	"github.com/concerto-lang/concerto/internal/talkgen"
)

// TestTalksReplayed records generated conversations of a program and a host, with what the host
// takes back and what comes too late, and replays each without the host.
func TestTalksReplayed(t *testing.T) {
	talk := func(seed uint64) *talkgen.Talk { return talkgen.Make(seed, talkgen.Options{Level: talkgen.Listen}) }
	show := func(seed uint64) string { return talk(seed).Source() + "\n" + talk(seed).String() }
	seeds.Run(t, "cmd/concerto", 40, show, func(t *testing.T, seed uint64) {
		k := talk(seed)
		dir := programs(t, map[string]string{"main.conc": k.Source(), "w.host": k.Script(), "Concerto.toml": k.Manifest("testhost", "w.host")})
		p, found, err := concerto.Compile("", dir)
		if err != nil || p == nil {
			t.Fatalf("%v, %d diagnostics\n%s", err, found.Len(), k.Source())
		}
		var live, again []string
		emits := func(to *[]string) func(string, json.RawMessage) {
			return func(channel string, payload json.RawMessage) { *to = append(*to, channel+" "+string(payload)) }
		}
		var tape bytes.Buffer
		err = p.Run(t.Context(), concerto.Options{WorkDir: dir, Environ: os.Environ(), OnEmit: emits(&live), Records: concerto.Records{Tape: &tape}})
		if err != nil {
			t.Fatalf("the run: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "w.host")); err != nil {
			t.Fatal(err)
		}
		recorded, err := concerto.ReadTape(bytes.NewReader(tape.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, &tape)
		}
		unused, n, err := p.Replay(t.Context(), recorded, concerto.Options{WorkDir: dir, OnEmit: emits(&again)})
		if err != nil || n > 0 {
			t.Errorf("the replay: %v; unused: %d, %v\n%s", err, n, unused, &tape)
		}
		if diff := cmp.Diff(live, again); diff != "" {
			t.Errorf("emits (-live +replayed)\n%s\n%s", diff, &tape)
		}
	})
}

// TestMemoryReplayed: whether values fit depends on when Go collects garbage. A replay does not
// look; it does what the recorded run did, however Go collects.
func TestMemoryReplayed(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("the race detector's own memory counts")
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
			t.Fatalf("%v\n%s", err, &stderr)
		}
		return string(out)
	}
	settings := []string{"50", "400", "off"}
	different := map[string]bool{}
	for i, live := range settings {
		want := run(live, "run", "--record", live+".tape", "main.conc")
		if strings.Count(want, "[caught]") != 2 {
			t.Fatalf("GOGC=%s: %s", live, want)
		}
		different[want] = true
		for _, again := range []string{live, settings[(i+1)%len(settings)]} {
			if got := run(again, "replay", live+".tape", "main.conc"); got != want {
				t.Errorf("recorded with GOGC=%s:\n%sreplayed with %s:\n%s", live, want, again, got)
			}
		}
	}
	if len(different) == 1 {
		t.Log("Go's collector made no difference this time")
	}
}
