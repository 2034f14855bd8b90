package tooltest

import (
	"context"
	"maps"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// maxOutput is enough for the script's largest output.
const maxOutput = 8 << 20

// once is the reason why tools that serve one call lack steps.
var once = map[string]string{
	"progress":    "it cannot report progress",
	"composition": "it has no way to call",
}

// Command is the route of commands, called from Go: the test binary, whose TestMain calls Play.
func Command(answer string) Route {
	return Route{Name: "command " + answer, Lacks: Lacks(answer), Open: func(t *testing.T, app *App) Session {
		x := Player(answer)
		return opened(t, app, func(s tool.Spec) (tool.Definition, error) { return x.Definition(s, "") })
	}}
}

// Player is the test binary as a tool's command; its TestMain calls Play.
func Player(answer string) tool.Command {
	return tool.Command{Run: []string{os.Args[0]}, Env: map[string]string{PlayEnv: answer, "GORACE": "atexit_sleep_ms=0"}, Answer: answer, MaxOutput: maxOutput}
}

// Lacks returns the steps that tools with a form of answers lack.
func Lacks(answer string) map[string]string {
	switch answer {
	case tool.AnswerLines:
		return nil
	case tool.AnswerText:
		lacks := map[string]string{"failure": "it reports a failure by its exit code"}
		maps.Copy(lacks, once)
		return lacks
	}
	return once
}

// HTTP is the route of addresses, called from Go.
func HTTP() Route {
	return Route{Name: "http", Lacks: Lacks(tool.AnswerJSON), Open: func(t *testing.T, app *App) Session {
		server := httptest.NewServer(Handler())
		t.Cleanup(server.Close)
		x := tool.HTTP{URL: server.URL, MaxOutput: maxOutput}
		return opened(t, app, func(s tool.Spec) (tool.Definition, error) { return x.Definition(s, "") })
	}}
}

// opened is a session of the script's tools with handlers of another kind.
func opened(t *testing.T, app *App, make func(tool.Spec) (tool.Definition, error)) Session {
	t.Helper()
	r := &tool.Registry{}
	for _, x := range Tools() {
		d, err := make(x.Spec())
		if err == nil {
			err = r.Register(d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Open(t, app, r)
}

// Open returns a session of a registry, called from Go, which the test closes together with the
// registry.
func Open(t *testing.T, app *App, r *tool.Registry) Session {
	t.Helper()
	t.Cleanup(r.Close)
	s, err := r.OpenWith(context.Background(), tool.Context{SessionID: "go", Route: tool.RouteClient}, Hooks(app))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return goSession{r, s}
}
