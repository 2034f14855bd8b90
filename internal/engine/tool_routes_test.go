package engine_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/tool/tooltest"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv("CONCERTO_TEST_HOST") != "":
		toolHost(os.Stdin, os.Stdout)
	case !tooltest.Play():
		os.Exit(m.Run())
	}
}

// written loads the tools of the script from a file in which all tools have the same handler.
func written(t *testing.T, app *tooltest.App, key string, handler any) tooltest.Session {
	t.Helper()
	var all []map[string]any
	for _, x := range tooltest.Tools() {
		text, err := json.Marshal(x.Spec())
		if err != nil {
			t.Fatal(err)
		}
		one := map[string]any{}
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		one[key] = handler
		all = append(all, one)
	}
	text, err := json.Marshal(map[string]any{"tools": all})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tools.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	set, found, err := engine.LoadTools(t.Context(), engine.ToolSources{Files: []string{file}})
	if err != nil || found.HasErrors() {
		t.Fatalf("LoadTools: diagnostics %v, error %v", found, err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &tool.Registry{}
	if err := set.Register(r); err != nil {
		t.Fatal(err)
	}
	return tooltest.Open(t, app, r)
}

// TestToolFilesPlayTheScript checks that tools from files return the same bytes as tools in Go.
func TestToolFilesPlayTheScript(t *testing.T) {
	for _, answer := range []string{tool.AnswerJSON, tool.AnswerText, tool.AnswerLines} {
		if randtest.Raced && answer != tool.AnswerJSON {
			continue // the way of the answer has no goroutine of its own
		}
		tooltest.Run(t, tooltest.Route{Name: "file command " + answer, Lacks: tooltest.Lacks(answer), Open: func(t *testing.T, app *tooltest.App) tooltest.Session {
			x := tooltest.Player(answer)
			return written(t, app, "command", map[string]any{"run": x.Run, "env": x.Env, "answer": x.Answer, "max_output": x.MaxOutput})
		}})
	}
	tooltest.Run(t, tooltest.Route{Name: "file http", Lacks: tooltest.Lacks(tool.AnswerJSON), Open: func(t *testing.T, app *tooltest.App) tooltest.Session {
		server := httptest.NewServer(tooltest.Handler())
		t.Cleanup(server.Close)
		return written(t, app, "http", map[string]any{"url": server.URL, "max_output": tooltest.Player(tool.AnswerJSON).MaxOutput})
	}})
}
