// Package tooltest plays one script of calls over every route by which tools are defined and called
// (its API promises nothing: it is for tests). The results of a route are compared byte for byte
// with the script, so all routes behave the same.
//
// A route is one value. It creates its tools in its own way, but their behaviour is Tools, whose Do
// another process may run too. A route that does not support a step has a reason in Lacks.
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

// Route is a way by which the script's tools are defined and called.
type Route struct {
	Name string
	// Open creates the tools of Tools, with app as the application, and opens a session that sees
	// them. It fails the test on an error, and registers the cleanup.
	Open func(t *testing.T, app *App) Session
	// Lacks maps names of steps, or their prefixes, to the reasons why the route does not support
	// them.
	Lacks map[string]string
}

// Session is how a route's tools are called.
type Session interface {
	// Call calls a tool and returns what the caller receives. When ctx ends, the call is cancelled.
	Call(ctx context.Context, name string, args json.RawMessage) Got
	// Unregister removes a tool for all callers.
	Unregister(name string) error
}

// Got is what a caller receives: the result in the form for a model, and the outcome if the route
// reports it.
type Got struct {
	Text    string
	Failed  bool
	Outcome tool.Outcome
}

// App is the application of a route's tools: it answers approvals by the script, and records emits.
type App struct {
	mu       sync.Mutex
	answers  []json.RawMessage
	asked    []tool.Question
	reported []tool.Progress
	server   *httptest.Server
	begun    chan struct{} // a waiting tool has begun
}

// Approve answers a question, the payload of `tool:approval`; false means no approver.
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

// Emit records an emit of the tools' session.
func (a *App) Emit(channel string, payload json.RawMessage) {
	var p tool.Progress
	if channel != tool.ProgressChannel || json.Unmarshal(payload, &p) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reported = append(a.reported, p)
}

// prepareStep prepares for a step.
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
					t.Skipf("not by this route: %s", why)
				}
			}
			play(t, app, s, step)
		})
	}
	for name := range r.Lacks {
		if !used[name] {
			t.Errorf("%s lacks %q, which is no step", r.Name, name)
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
		t.Errorf("the outcome is %s, not %s", got.Outcome, step.Outcome)
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
			t.Errorf("progress is that of %q, call %q", p.Tool, p.CallID)
		}
	}
	if !slices.Equal(reported, step.Progress) {
		t.Errorf("its progress is %q, not %q", reported, step.Progress)
	}
	var asked []string
	for _, q := range app.asked {
		asked = append(asked, string(q.Args))
		if q.Tool != step.Tool || q.CallID == "" || q.ArgsSHA256 == "" || q.Version != 1 {
			t.Errorf("asked is about %q@%d, call %q, arguments %q", q.Tool, q.Version, q.CallID, q.ArgsSHA256)
		}
	}
	if !slices.Equal(asked, step.Asked) {
		t.Errorf("asked is about %q, not %q", asked, step.Asked)
	}
	if len(app.answers) > 0 {
		t.Errorf("%d answers were not used", len(app.answers))
	}
}

// cut shortens a text.
func cut(s string) string {
	if len(s) > 500 {
		return s[:500] + "…"
	}
	return s
}
