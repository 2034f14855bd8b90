package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/host"
)

// TestRealHosts tests hosts that are written in Python and JavaScript without a Concerto library.
func TestRealHosts(t *testing.T) {
	for _, c := range []struct{ name, command, script string }{
		{"python", "python3", "testdata/asking.py"},
		{"node", "node", "testdata/asking.js"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.command); err != nil {
				t.Skipf("%s is not installed", c.command)
			}
			var mu sync.Mutex
			var log []string
			h := host.New(host.Options{
				Environ: os.Environ(),
				Stderr: func(name, line string) {
					mu.Lock()
					defer mu.Unlock()
					log = append(log, name+": "+line)
				},
				Configs: []host.Config{{
					Name: "Asking", Connector: "asking", Command: c.command, Args: []string{c.script},
					OutputFormat: "json", Params: []byte(`{"model":"opus"}`), Timeout: 60,
				}},
			})
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			talk(ctx, t, h)
			if err := h.Close(ctx); err != nil {
				t.Error(err)
			}
			if got := strings.Join(log, "\n"); !strings.Contains(got, "Asking: working on two") {
				t.Errorf("log = %q, want it to contain the host's standard error", got)
			}
		})
	}
}

// talk runs three exchanges with the host, which exits in the third one.
func talk(ctx context.Context, t *testing.T, h *host.Hosts) {
	t.Helper()
	perform := func(r effect.Request) effect.Result {
		t.Helper()
		res, err := h.Perform(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for i, x := range []struct{ prompt, context, answer, result string }{
		{"one", `{"a":[1]}`, `"kept, \"é\""`, `{"text":"opus: kept, \"é\"","count":1,"context":{"a":[1]}}`},
		{"two", "null", `"yes"`, `{"text":"opus: yes","count":2,"context":null}`},
		{"three", "null", `"fail"`, ""},
	} {
		id := perform(&effect.ExchangeOpen{Host: "Asking", Prompt: x.prompt, Context: []byte(x.context)}).(*effect.ExchangeOpened).ID
		var got []string
		for len(got) < 3 {
			res, err := h.Perform(ctx, &effect.ExchangeNext{ID: id})
			var e *effect.Error
			if x.result == "" && errors.As(err, &e) {
				if !strings.HasPrefix(e.Message, "host exited without result: 'Asking' exited with status 3") || e.Fields["exit_code"] != int64(3) {
					t.Errorf("message = %q, fields = %v, want exit code 3 without a result", e.Message, e.Fields)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range res.(*effect.ExchangeMessages).Messages {
				got = append(got, string(value.AppendJSON(nil, m.Payload)))
				if m.Type == "question" {
					perform(&effect.ExchangeReply{ID: id, InReplyTo: m.Type, AnswerTo: m.ID, Value: []byte(x.answer)})
				}
			}
		}
		perform(&effect.ExchangeClose{ID: id})
		want := []string{
			`{"message":"Überblick","percent":10}`,
			`{"id":"q` + string(rune('1'+i)) + `","question":"keep “it”?","options":["yes","no"]}`,
		}
		if x.result != "" {
			want = append(want, x.result)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("messages after prompt %q:\n%s\nwant\n%s", x.prompt, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
