package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/runs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// asksAll is the script of a host that speaks Concerto's protocol. It sends questions and approvals
// of every kind, and stores the answers in the file answers.
const asksAll = `#!/bin/bash
read prompt; echo "$prompt" >&2
echo '{"type":"progress","message":"half","percent":50}'
echo '{"type":"log","level":"warn","message":"careful"}'
echo '{"type":"question","id":"a","question":"Tabs?","options":["tabs","spaces"]}'
read answer; echo "$answer" >> answers
echo '{"type":"question","id":"w","question":"Never mind?"}'
while [ ! -e asked ]; do read -t 0.01 <> <(:); done
echo '{"type":"withdraw","id":"w"}'
for i in 1 2 3; do
  echo "{\"type\":\"approval\",\"id\":$i,\"description\":\"remove it\",\"tool\":\"rm\",\"args\":{\"n\":$i},\"risk_level\":\"high\"}"
  read answer; echo "$answer" >> answers
done
echo '{"type":"tool_call","id":"t","tool":"x","args":{}}'
read answer; echo "$answer" >> answers
echo '{"type":"strange","n":1}'
echo '{"type":"result","text":"done it"}'
`

// request waits for a request of the run that contains text, and returns it.
func (h *machine) request(run, text string) protocol.PermissionRequested {
	h.t.Helper()
	e := h.until(run, protocol.RunPermissionRequested, text)
	q, err := protocol.Decode[protocol.PermissionRequested](&e)
	if err != nil {
		h.t.Fatal(err)
	}
	return q
}

// TestRunNDJSON runs a host that speaks Concerto's protocol. Its messages become events of the run,
// and its questions become requests. The host receives each answer, also when hostd was killed
// while the question was open. The run exits with the host's exit code.
func TestRunNDJSON(t *testing.T) {
	t.Parallel()
	h := newMachine(t)
	script := filepath.Join(h.dir, "host")
	if err := os.WriteFile(script, []byte(asksAll), 0o700); err != nil {
		t.Fatal(err)
	}
	if out := h.do(2, "run", "--ndjson", "--", script); !strings.Contains(out, "no hostd serves") {
		t.Errorf("output of run without hostd = %s, want \"no hostd serves\"", out)
	}
	h.start()
	for args, want := range map[string]string{"--ndjson --acp -- x": "--ndjson and --acp", "--prompt x -- true": "requires a run without a terminal"} {
		if out := h.do(2, append([]string{"run"}, strings.Fields(args)...)...); !strings.Contains(out, want) {
			t.Errorf("flags %s: output = %s, want it to contain %q", args, out, want)
		}
	}
	run := strings.TrimSpace(h.do(0, "run", "--detach", "--ndjson", "--prompt", "go", "--title", "a host", "--", script))
	first := h.request(run, "Tabs?")
	if first.From == nil || first.From.Kind != "question" || first.From.Host != "host" || len(first.Questions) != 1 || len(first.Questions[0].Options) != 2 || first.Reason != "choice" {
		t.Errorf("request = %+v", first)
	}
	h.until(run, protocol.RunOutput, `"text":"go"`)
	h.until(run, protocol.RunOutput, "50% half\nwarn: careful\n")
	if list := h.do(0, "runs"); !strings.Contains(list, run+"  awaiting_approval") || !strings.Contains(list, "a host") {
		t.Errorf("listed runs =\n%s", list)
	}
	h.kill()
	h.start()
	if q := h.request(run, "Tabs?"); q.RequestID != first.RequestID {
		t.Errorf("id of the request before the restart = %s, after it = %s, want the same", first.RequestID, q.RequestID)
	}
	h.approve(run, first.RequestID, "--answer", `"tabs"`)
	second := h.request(run, "Never mind?")
	if err := os.WriteFile(filepath.Join(h.dir, "asked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	withdrawn := h.until(run, protocol.RunPermissionResolved, `"request_id":"`+second.RequestID+`"`)
	if !strings.Contains(string(withdrawn.Data), `"decision":"withdrawn"`) {
		t.Errorf("outcome of the withdrawn question = %s", withdrawn.Data)
	}
	for i, how := range []string{"approve", "deny", "deny"} {
		q := h.request(run, `"op_args":{"n":`+string(rune('1'+i))+`}`)
		if q.From.Kind != "approval" || q.ArgsSHA256 == "" || q.Risk != "high" || q.OpTool != "rm" {
			t.Errorf("request = %+v, want an approval", q)
		}
		h.do(0, how, run, q.RequestID)
	}
	h.until(run, protocol.RunEmit, `"host:strange"`)
	if out := h.do(0, "attach", run); !strings.Contains(out, "done it\n") {
		t.Errorf("output = %q", out)
	}
	text, err := os.ReadFile(filepath.Join(h.dir, "answers"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	want := []string{`{"type":"response","in_reply_to":"question","answer_to":"a","value":"tabs"}`, `{"type":"response","in_reply_to":"approval","answer_to":1,"value":"yes"}`,
		`{"type":"response","in_reply_to":"approval","answer_to":2,"value":"no"}`, `{"type":"response","in_reply_to":"approval","answer_to":3,"value":"no"}`,
		`{"type":"response","in_reply_to":"tool_call","answer_to":"t","error":"this run has no tools to call"}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("answers that the host received =\n%s", strings.Join(got, "\n"))
	}
	if out := h.do(7, "run", "--ndjson", "--", "sh", "-c", `echo '{"type":"log","message":"so"}'; read p; exit 7`); !strings.Contains(out, "so\n") {
		t.Errorf("output of the run of a host that exits early = %q", out)
	}
	h.do(1, "run", "--ndjson", "--", "sh", "-c", `read p; echo '{"type":"error","message":"no luck"}'; read p`)
	h.do(1, "run", "--ndjson", "--", "/no/such")
	waits := strings.TrimSpace(h.do(0, "run", "--detach", "--ndjson", "--", "sh", "-c", `read p; echo '{"type":"log","message":"up"}'; read p; read q`))
	h.until(waits, protocol.RunOutput, "up")
	h.stop(waits)
	h.do(143, "attach", waits)
}

// approve approves a request. After a restart of hostd, it repeats the command until the run has
// reconnected.
func (h *machine) approve(run, id string, args ...string) {
	h.t.Helper()
	for range 100 {
		c := h.command(append([]string{"approve", run, id}, args...)...)
		out, err := c.CombinedOutput()
		if err == nil {
			return
		}
		if !strings.Contains(string(out), "has not reconnected") {
			h.t.Fatalf("approve failed: %v: %s", err, out)
		}
	}
	h.t.Fatal("the run did not reconnect")
}

func (h *machine) stop(run string) {
	h.t.Helper()
	a := &console.Console{Environ: h.command().Env, Dir: h.dir, Places: map[string]string{}}
	e, err := connect.EndpointOf(a, &connect.Target{Socket: filepath.Join(h.dir, "s")})
	if err == nil {
		err = e.Call(h.t.Context(), "POST", runs.RunPath(run)+"/stop", protocol.Stop{}, nil)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestRunACP runs a recorded ACP agent. The run is started without a prompt, so it first asks the
// user for a task.
func TestRunACP(t *testing.T) {
	t.Parallel()
	wire, err := filepath.Abs("../../runtime/host/adapter/testdata/wire/claude-acp.wire")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := newMachine(t)
	h.start()
	run := strings.TrimSpace(h.do(0, "run", "--detach", "--acp", "--tool", "coder", "--", exe, "replay", wire))
	q := h.request(run, "Which task should coder do?")
	h.do(0, "approve", run, q.RequestID, "--answer", `"please work"`)
	q = h.request(run, "touch made.txt")
	if q.From.Kind != "approval" || q.Risk != "high" || q.ArgsSHA256 == "" {
		t.Errorf("request = %+v, want an approval", q)
	}
	h.do(0, "approve", run, q.RequestID)
	q = h.request(run, "Tabs or spaces?")
	h.do(0, "approve", run, q.RequestID, "--answer", `"tabs"`)
	if out := h.do(0, "attach", run); !strings.Contains(out, "All done.") {
		t.Errorf("output of the run = %q, want it to contain \"All done.\"", out)
	}
}
