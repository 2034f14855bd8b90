// Package tooltest plays one script of calls over every route by which tools are defined and
// called. It compares the results of each route byte for byte with the script, so that all routes
// behave the same.
//
// A route is a value of type Route. Each route creates its tools in a different way, but their
// behaviour is always that of Tools, whose function Do another process may run. If a route does not
// support a step, Route.Lacks contains the reason.
package tooltest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// Route is a way to define and call the script's tools.
type Route struct {
	Name string
	// Open creates the tools of Tools, with app as the application, and opens a session that has
	// them. It fails the test on an error and registers the cleanup.
	Open func(t *testing.T, app *App) Session
	// Lacks maps names of steps, or their prefixes, to the reasons why the route does not support
	// them.
	Lacks map[string]string
}

// Session calls the tools of a route.
type Session interface {
	// Call calls a tool and returns the result that the caller receives. When ctx ends, the call is
	// cancelled.
	Call(ctx context.Context, name string, args json.RawMessage) Got
	// Unregister removes a tool for all callers.
	Unregister(name string) error
}

// Got is the result that a caller receives: the text for a model, whether it is a failure, and the
// outcome. Outcome is "" if the route does not report it.
type Got struct {
	Text    string
	Failed  bool
	Outcome tool.Outcome
}

// App is the application of a route's tools. It answers approvals as the script specifies, and
// records emitted values.
type App struct {
	mu       sync.Mutex
	answers  []json.RawMessage
	asked    []tool.Question
	reported []tool.Progress
	server   *httptest.Server
	begun    chan struct{} // signals that a waiting tool has begun
}

// Approve answers a question, which is the payload on `tool:approval`. ok is false if there is no
// approver.
func (a *App) Approve(question json.RawMessage) (answer json.RawMessage, ok bool) {
	var q tool.Question
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q)
	if len(a.answers) == 0 {
		return nil, false
	}
	answer, a.answers = a.answers[0], a.answers[1:]
	return answer, true
}

// Emit records a value that the session of the tools emits.
func (a *App) Emit(channel string, payload json.RawMessage) {
	var p tool.Progress
	if channel != tool.ProgressChannel || json.Unmarshal(payload, &p) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reported = append(a.reported, p)
}

// prepareStep resets the application for a step with the given answers.
func (a *App) prepareStep(answers []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers, a.asked, a.reported = nil, nil, nil
	for _, text := range answers {
		a.answers = append(a.answers, json.RawMessage(text))
	}
}

func newApp(t *testing.T) *App {
	a := &App{begun: make(chan struct{}, 1)}
	a.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a.begun <- struct{}{}
	}))
	t.Cleanup(a.server.Close)
	return a
}

// Run plays the script over a route.
func Run(t *testing.T, r Route) {
	app := newApp(t)
	s := r.Open(t, app)
	used := map[string]bool{}
	for _, step := range Script() {
		t.Run(r.Name+"/"+strings.ReplaceAll(step.Name, " ", "_"), func(t *testing.T) {
			for name, why := range r.Lacks {
				if strings.HasPrefix(step.Name, name) {
					used[name] = true
					t.Skipf("not supported by this route: %s", why)
				}
			}
			play(t, app, s, step)
		})
	}
	for name := range r.Lacks {
		if !used[name] {
			t.Errorf("route %s excludes %q, which matches no step", r.Name, name)
		}
	}
}

func play(t *testing.T, app *App, s Session, step Step) {
	app.prepareStep(step.Answers)
	if step.Unregister != "" {
		if err := s.Unregister(step.Unregister); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	args := step.Args
	if step.Cancel {
		args = strings.Replace(args, "URL", app.server.URL, 1)
		ended := make(chan struct{})
		defer func() { <-ended }()
		go func() {
			defer close(ended)
			select {
			case <-app.begun:
				cancel()
			case <-ctx.Done():
			}
		}()
		defer cancel()
	}
	got := s.Call(ctx, step.Tool, json.RawMessage(args))
	if got.Outcome != "" && got.Outcome != step.Outcome {
		t.Errorf("outcome = %s, want %s", got.Outcome, step.Outcome)
	}
	if failed := step.Outcome != tool.OutcomeOK; got.Text != step.Want || got.Failed != failed {
		t.Errorf("got (failed: %v)\n%s\nwant (failed: %v)\n%s", got.Failed, cut(got.Text), failed, cut(step.Want))
	}
	app.mu.Lock()
	defer app.mu.Unlock()
	var reported []string
	for _, p := range app.reported {
		reported = append(reported, p.Message)
		if p.Tool != step.Tool || p.CallID == "" {
			t.Errorf("progress reports tool %q and call %q, want tool %q and a call ID", p.Tool, p.CallID, step.Tool)
		}
	}
	if !slices.Equal(reported, step.Progress) {
		t.Errorf("progress = %q, want %q", reported, step.Progress)
	}
	var asked []string
	for _, q := range app.asked {
		asked = append(asked, string(q.Args))
		if q.Tool != step.Tool || q.CallID == "" || q.ArgsSHA256 == "" || q.Version != 1 {
			t.Errorf("question names %q@%d, call %q, arguments %q, want version 1 of the tool and no empty value", q.Tool, q.Version, q.CallID, q.ArgsSHA256)
		}
	}
	if !slices.Equal(asked, step.Asked) {
		t.Errorf("arguments in questions = %q, want %q", asked, step.Asked)
	}
	if len(app.answers) > 0 {
		t.Errorf("%d answers to approvals were not used", len(app.answers))
	}
}

// cut shortens a text for a failure message.
func cut(s string) string {
	if len(s) > 500 {
		return s[:500] + "…"
	}
	return s
}
