package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// TestRunsShareAuditLog runs a program several times at once. The runs must share one audit log,
// and the last run must close it, so that the log can be opened again.
func TestRunsShareAuditLog(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.log")
	p := compileTests(t, map[string]string{"main.conc": `
		fn main() {
			await emit("meet", nil);
			dispatch_tool("echo", { n: 1 });
		}`, "Concerto.toml": "[audit]\nfile = '" + file + "'\n"})
	var tools tool.Registry
	if err := tools.Register(tool.New("echo", "Says it again", func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return in.N, nil
	})); err != nil {
		t.Fatal(err)
	}
	const runs = 3
	met, ended := make(chan struct{}, runs), make(chan error, runs)
	all := make(chan struct{})
	for range runs {
		go func() {
			ended <- p.Run(context.Background(), engine.Options{Tools: &tools, OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				met <- struct{}{}
				<-all
				return json.RawMessage("null"), nil
			}})
		}()
	}
	for range runs {
		<-met // every run waits in its call
	}
	close(all)
	for range runs {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range bytes.Lines(text) {
		var r audit.Line
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		kinds[r.Kind]++
	}
	if diff := cmp.Diff(map[string]int{"open": 1, "call": runs, "done": runs, "close": 1}, kinds); diff != "" {
		t.Error(diff)
	}
	if err := p.Run(context.Background(), engine.Options{Tools: &tools, OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("null"), nil
	}}); err != nil {
		t.Errorf("run after the log was closed: %v", err)
	}
}
