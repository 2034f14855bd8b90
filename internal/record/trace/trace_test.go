package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/vm"
)

const secret = "hunter2"

// play calls f with a run whose clock advances by a microsecond at each event. It returns the
// events of the trace, one per line.
func play(t *testing.T, f func(r *testevents.Run)) []string {
	t.Helper()
	var out bytes.Buffer
	w := New(&out)
	r := testevents.New(nil, w.Sink())
	r.Step = time.Microsecond
	f(r)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), secret) {
		t.Errorf("the trace contains a secret:\n%s", out.String())
	}
	var trace struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(out.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range trace.TraceEvents {
		if e.Phase == "M" {
			continue
		}
		delete(e.Args, "kind")
		a, err := json.Marshal(e.Args)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Args) == 0 {
			a = nil
		}
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%d/%d %s %s %s %s", e.Process, e.Thread, e.Phase, e.Name, e.ID, a)), " "))
	}
	return lines
}

func TestEvents(t *testing.T) {
	got := play(t, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{Function: "main", File: "main.conc", Line: 3})
		r.TaskBegan(2, 0, vm.Place{Function: "ask", File: "main.conc", Line: 9})
		came := r.Request(2, &effect.AgentCall{Agent: "Judge", Connection: "main", Model: "fast", System: secret, Messages: []effect.ChatMessage{{Content: secret}}})
		opened := r.Request(1, &effect.ExchangeOpen{Host: "Worker", Prompt: secret, Context: []byte(`"` + secret + `"`)})
		opened(&effect.ExchangeOpened{ID: 7}, nil)
		r.Entered(1, vm.Span{Kind: vm.SpanListen, Name: "Worker", Exchange: 7})
		next := r.Request(1, &effect.ExchangeNext{ID: 7})
		next(&effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: "question", ID: "1", Payload: value.String(secret), Text: []byte(secret)}}}, nil)
		r.Entered(1, vm.Span{Kind: vm.SpanHandler, Name: "question", Exchange: 7})
		came(&effect.AgentReply{Text: secret, TokensIn: 12, TokensOut: 3, Model: "fast-1", StopReason: "end"}, nil)
		r.Left(1)
		r.Request(1, &effect.ExchangeReply{ID: 7, InReplyTo: "question", Value: []byte(`"` + secret + `"`)})(nil, nil)
		r.TaskEnded(2, "AgentError")
		r.Request(1, &effect.ExchangeClose{ID: 7, Reason: secret})(nil, nil)
		r.Left(1)
		r.TaskEnded(1, "")
	})
	want := []string{
		`1/1 B main {"at":"main.conc:3"}`,
		`1/2 B ask {"at":"main.conc:9"}`,
		`2/1 b Worker exchange 7`,
		`1/1 X open Worker {"host":"Worker"}`,
		`1/1 B listen Worker {"host":"Worker"}`,
		`2/1 n question exchange 7`,
		`1/1 B handler question {"message":"question"}`,
		`1/2 X agent Judge {"agent":"Judge","connection":"main","messages":1,"model":"fast-1","stop_reason":"end","tokens_in":12,"tokens_out":3,"tools":0}`,
		`1/1 E`,
		`1/1 X reply {"host":"Worker","to":"question"}`,
		`1/2 E {"ended":"AgentError"}`,
		`2/1 e Worker exchange 7`,
		`1/1 X close {"host":"Worker"}`,
		`1/1 E`,
		`1/1 E`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// TestOpenSpansAreClosed checks that Close ends all open spans.
func TestOpenSpansAreClosed(t *testing.T) {
	got := play(t, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{})
		r.Request(1, &effect.ExchangeOpen{Host: "W"})(&effect.ExchangeOpened{ID: 1}, nil)
		r.Entered(1, vm.Span{Kind: vm.SpanListen, Name: "W", Exchange: 7})
	})
	want := []string{"1/1 B task", "2/1 b W exchange 1", `1/1 X open W {"host":"W"}`, `1/1 B listen W {"host":"W"}`, "1/1 E", "1/1 E", "2/1 e W exchange 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// TestEffects checks which properties of other effects a trace contains.
func TestEffects(t *testing.T) {
	body := secret
	for _, c := range []struct {
		request effect.Request
		err     error
		want    string // "" means that the trace omits the effect
	}{
		{&effect.Emit{Channel: "done", Payload: []byte(`"` + secret + `"`)}, nil, `emit done {"bytes":9}`},
		{&effect.AwaitEmit{Channel: "ask", Payload: []byte(`"` + secret + `"`)}, effect.Errorf("EmitError", "%s", secret), `await emit ask {"bytes":9,"error":"EmitError"}`},
		{&effect.Print{Text: secret}, nil, `print {"bytes":7}`},
		{&effect.Log{Level: "warn", Message: secret}, nil, `log {"level":"warn"}`},
		{&effect.Sleep{Milliseconds: 5}, context.Canceled, `sleep {"error":"cancelled","ms":5}`},
		{&effect.HTTP{Method: "POST", URL: "https://me:" + secret + "@example.com/" + secret + "?key=" + secret, Body: &body}, nil, `http example.com {"host":"example.com","method":"POST"}`},
		{&effect.HTTP{Method: "GET", URL: "://" + secret}, nil, `http {"method":"GET"}`},
		{&effect.Command{Command: "git", Args: []string{secret}}, nil, `command git`},
		{&effect.Env{Name: "TOKEN"}, nil, `env {"name":"TOKEN"}`},
		{&effect.ReadFile{}, errors.New("gone"), `fs.read {"error":"cancelled"}`},
		{&effect.Clock{}, nil, ""},
		{&effect.Secret{Bytes: 3}, nil, ""},
	} {
		got := play(t, func(r *testevents.Run) {
			r.Perform(1, c.request, nil, c.err)
		})
		want := []string{"1/1 B task", "1/1 X " + c.want, "1/1 E"}
		if c.want == "" {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event of %T differs (-want +got):\n%s", c.request, diff)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestWriteError(t *testing.T) {
	w := New(failingWriter{})
	if err := w.Close(); err == nil || err.Error() != "write the trace: no room" {
		t.Error(err)
	}
}
