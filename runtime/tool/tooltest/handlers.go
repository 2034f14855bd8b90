package tooltest

import (
	"context"
	"maps"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// maxOutput is larger than the largest output in the script.
const maxOutput = 8 << 20

// once contains the steps that tools cannot perform if their handler serves only one call, with the
// reasons.
var once = map[string]string{
	"progress":    "it cannot report progress",
	"composition": "it has no way to call",
}

// Command returns the route of commands that are called from Go. The command is the test binary,
// whose TestMain must call Play.
func Command(answer string) Route {
	return Route{Name: "command " + answer, Lacks: Lacks(answer), Open: func(t *testing.T, app *App) Session {
		x := Player(answer)
		return opened(t, app, func(s tool.Spec) (tool.Definition, error) { return x.Definition(s, "") })
	}}
}

// Player returns a command that runs the test binary as a tool. The binary's TestMain must call
// Play.
func Player(answer string) tool.Command {
	return tool.Command{Run: []string{os.Args[0]}, Env: map[string]string{PlayEnv: answer, "GORACE": "atexit_sleep_ms=0"}, Answer: answer, MaxOutput: maxOutput}
}

// Lacks returns the steps that tools with an answer form cannot perform, with the reasons.
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

// HTTP returns the route of HTTP tools that are called from Go.
func HTTP() Route {
	return Route{Name: "http", Lacks: Lacks(tool.AnswerJSON), Open: func(t *testing.T, app *App) Session {
		server := httptest.NewServer(Handler())
		t.Cleanup(server.Close)
		x := tool.HTTP{URL: server.URL, MaxOutput: maxOutput}
		return opened(t, app, func(s tool.Spec) (tool.Definition, error) { return x.Definition(s, "") })
	}}
}

// opened opens a session of the script's tools, whose handlers are created by make.
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

// Open opens a session of the registry that is called from Go. At the end of the test, the session
// and the registry are closed.
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
