package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/testkit/conversation"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestTalks plays generated conversations between a program and a host. It compiles each program,
// and runs it with a real host process.
func TestTalks(t *testing.T) {
	talk := func(seed uint64) *conversation.Conversation {
		return conversation.Generate(seed, conversation.Options{Level: conversation.Listen})
	}
	show := func(seed uint64) string { return talk(seed).Source() + "\n" + talk(seed).String() }
	randtest.Run(t, "internal/cli", 40, show, func(t *testing.T, seed uint64) { listened(t, talk(seed), engine.Records{}) })
}

// listened runs the program of a conversation and compares the emits, the host's messages and the
// log with the expected ones.
func listened(t *testing.T, talk *conversation.Conversation, records engine.Records) {
	dir := programs(t, map[string]string{
		"main.conc": talk.Source(), "w.host": talk.Script(), "Concerto.toml": talk.Manifest("testhost", "w.host"),
	})
	p, found, err := engine.Compile("", dir)
	if err != nil || p == nil {
		t.Fatalf("compile: error %v, %d diagnostics\n%s", err, found.Len(), talk.Source())
	}
	var emitted []string
	var log lines
	err = p.Run(t.Context(), engine.Options{
		WorkDir: dir, Environ: os.Environ(), Log: &log, LogLevel: "warn", Records: records,
		OnEmit: func(channel string, payload json.RawMessage) {
			emitted = append(emitted, conversation.Emitted(channel, string(payload)))
		},
		OnAwait: func(_ context.Context, channel string, _ json.RawMessage) (json.RawMessage, error) {
			t.Errorf("unexpected awaited emit on channel %s", channel)
			return json.RawMessage("null"), nil
		},
	})
	if err != nil {
		t.Errorf("run the program: %v", err)
	}
	if problem, err := os.ReadFile(filepath.Join(dir, "w.host.fail")); err == nil {
		t.Errorf("the host reports: %s", problem)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "w.host.in"))
	if err != nil {
		t.Fatal(err)
	}
	want := talk.Expect()
	if len(want.Problems) > 0 {
		t.Fatalf("the generated conversation is invalid: %q", want.Problems)
	}
	if diff := cmp.Diff(slices.Concat(want.ProgramReceived...), emitted); diff != "" {
		t.Errorf("emits (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(slices.Concat(want.HostReceived...), conversation.Lines(string(lines))); diff != "" {
		t.Errorf("messages to the host (-want +got)\n%s", diff)
	}
	remarks := slices.DeleteFunc(log.all, func(line string) bool {
		// The expected conversation does not include log lines about values that handlers return.
		return conversation.Outside(line) || strings.HasSuffix(line, "returned nil, which is no answer: the host waits for one")
	})
	want.Remarks = slices.DeleteFunc(want.Remarks, conversation.Outside)
	if !slices.Equal(want.Remarks, remarks) {
		t.Errorf("log lines (-want +got)\n%s", cmp.Diff(want.Remarks, remarks))
	}
}

// lines is a writer that collects the lines written to it.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}
