package guard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// The kinds of records in the ledger of a session.
const (
	kindCall = "guard"     // a decision about a call
	kindRan  = "guard_ran" // an executed call, compared with the decision
)

// Values of `decision` in records of executed calls.
const (
	ranAsDecided = "ran"
	alarm        = "alarm" // the call was not allowed, or is not the call that was allowed
)

// Deadline is how long a hook decides. It is shorter than the time that an agent grants its hooks,
// because agents run a call whose hook is late.
const Deadline = 10 * time.Second

// MaxInput is the maximum size of a hook's input in bytes.
const MaxInput = 64 << 20

// Hook decides about one event of Claude Code.
type Hook struct {
	Places   Places
	Environ  []string
	Getenv   func(name string) string
	Project  string        // directory in which the agent was started, absolute; "" if it is unknown
	CanAsk   func() bool   // reports whether a person is at the agent's terminal
	Deadline time.Duration // 0 means Deadline
	Sync     func() error  // called before each record is written; nil outside of tests
}

// Run reads an event from stdin and writes the answer. It returns the exit code: 2 for a denial,
// which is also the result of everything that fails, and 0 otherwise.
func (h *Hook) Run(stdin io.Reader, stdout, stderr io.Writer) int {
	began := time.Now()
	done := make(chan answer, 1)
	go func() {
		event := beforeTool
		defer func() {
			if p := recover(); p != nil {
				done <- claudeAnswer(event, deny("the guard has failed: %v", p))
			}
		}()
		text, err := io.ReadAll(io.LimitReader(stdin, MaxInput+1))
		switch {
		case err != nil:
			done <- claudeAnswer(event, deny("read the input: %v", err))
		case len(text) > MaxInput:
			done <- claudeAnswer(event, deny("the input has more than %d bytes", MaxInput))
		default:
			in, err := readClaude(text, h.Project)
			if err != nil {
				done <- claudeAnswer(event, deny("%v", err))
				return
			}
			event = in.event
			done <- claudeAnswer(event, h.handle(in, began))
		}
	}()
	limit := cmp.Or(h.Deadline, Deadline)
	var a answer
	select {
	case a = <-done:
	case <-time.After(limit):
		a = claudeAnswer(beforeTool, deny("no decision within %v", limit))
	}
	if _, err := io.WriteString(stdout, a.stdout); err != nil && a.code == 0 {
		a.code, a.stderr = 2, "concerto guard: write the answer: "+err.Error()+"\n"
	}
	_, _ = io.WriteString(stderr, a.stderr) // the exit code also denies
	return a.code
}

// handle returns the decision about an event, after it is in the ledger.
func (h *Hook) handle(in *input, began time.Time) Decision {
	if in.cursor {
		return deny("Cursor is not supported yet")
	}
	var d Decision
	var policies []*Policy
	switch in.event {
	case beforeTool:
		d, policies = h.Places.decide(&in.call)
		d = h.resolve(d, in.mode)
	case afterTool, afterFailure:
		policies, _ = h.Places.load(in.call.Dir, in.call.Project) // without policies, fewer secrets are known
	case configChange:
		d = deny("built in: settings must not change during a session")
	default:
		return deny("unknown event %q", in.event)
	}
	d, err := h.record(in, d, policies, began)
	if err != nil {
		return deny("the decision could not be recorded: %v", err)
	}
	return d
}

// resolve returns the decision for a call about which a person must decide, if no person can.
func (h *Hook) resolve(d Decision, mode string) Decision {
	if d.Verdict != hostpolicy.Ask || slices.Contains([]string{"default", "acceptEdits", "bypassPermissions"}, mode) && h.CanAsk() {
		return d
	}
	d.Verdict = cmp.Or(d.unattended, hostpolicy.Deny)
	d.Reason += fmt.Sprintf("; no person can be asked, and `unattended` is %q", d.Verdict)
	return d
}

// record writes the decision to the ledger of the session. For an executed call, it returns the
// result of the comparison with the decision.
func (h *Hook) record(in *input, d Decision, policies []*Policy, began time.Time) (Decision, error) {
	if h.Places.State == "" {
		return d, errors.New("neither XDG_STATE_HOME nor HOME is set")
	}
	clean, err := h.cleaner(policies)
	if err != nil {
		return d, err
	}
	folder := filepath.Join(h.Places.State, "guard")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return d, err
	}
	log, err := h.open(filepath.Join(folder, in.session+".ndjson"), began)
	if err != nil {
		return d, err
	}
	defer log.Close()
	args := clean(slices.Clone(in.call.Args))
	hash := ""
	if in.call.Tool != "" {
		if hash = decision.Hash(args); hash == "" {
			return d, errors.New("the arguments have no canonical form")
		}
	}
	was, stopped, err := find(log.Path(), in.id)
	if err != nil {
		return d, err
	}
	run, err := ledger.Begin(log, ledger.RunOptions{ID: in.session, Clean: clean, Before: h.Sync})
	if err != nil {
		return d, err
	}
	kind, outcome := kindCall, ""
	switch {
	case in.event == afterTool || in.event == afterFailure:
		kind, outcome = kindRan, ranAsDecided
		if problem := compare(was, hash); problem != "" {
			outcome = alarm
			d = deny("%s %s; session %s is stopped", in.call.Tool, problem, in.session)
		}
	case stopped != "" && in.event == beforeTool:
		d = deny("session %s is stopped: %s", in.session, stopped)
	}
	data := ledger.Data{ArgsSHA256: hash, Call: in.id, Decision: cmp.Or(outcome, string(d.Verdict)), MS: time.Since(began).Milliseconds(), Reason: d.Reason, Session: in.session, Tool: &in.call.Tool}
	if kind == kindCall {
		asked := map[string]any{"cwd": in.call.Dir, "event": in.event, "mode": in.mode}
		if args != nil {
			asked["args"] = json.RawMessage(args)
		}
		if data.Asked, err = jsonwrite.Encode(asked); err != nil {
			return d, err
		}
	}
	if in.subagent != "" {
		if data.Agent, err = jsonwrite.Encode(map[string]string{"name": in.subagent}); err != nil {
			return d, err
		}
	}
	id, err := jsonwrite.Encode(in.id)
	if err != nil {
		return d, err
	}
	return d, run.Record(kind, d.actor(), ledger.Subject{Host: &in.call.Agent, ID: id}, &data)
}

// actor returns the rule that has decided.
func (d *Decision) actor() audit.Actor {
	if d.File == "" {
		return audit.Actor{Type: "rule", Name: "built-in"}
	}
	return audit.Actor{Type: "rule", Name: strings.TrimSpace(d.Key + " " + d.Rule), At: fmt.Sprintf("%s:%d", d.File, d.Line)}
}

// open opens the ledger of a session. Concurrent calls of the session wait for one another.
func (h *Hook) open(path string, began time.Time) (*ledger.Ledger, error) {
	for {
		log, err := ledger.Open(path, ledger.Options{SyncEach: true})
		var locked *audit.LockedError
		if !errors.As(err, &locked) || time.Since(began) > cmp.Or(h.Deadline, Deadline) {
			return log, err
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// cleaner returns the function that replaces secrets in what is recorded.
func (h *Hook) cleaner(policies []*Policy) (func([]byte) []byte, error) {
	var set secret.Set
	set.AddFromEnviron(h.Environ)
	var conf runconf.Config
	for _, p := range policies {
		own, err := runconf.Read(p.run)
		if err != nil {
			return nil, err
		}
		for _, name := range own.Secrets {
			set.Add(name, h.Getenv(name))
		}
		conf.Redact = append(conf.Redact, own.Redact...)
	}
	return set.ForTapes(conf.Redact...).JSON, nil
}

// decided is the recorded decision about a call.
type decided struct {
	Decision string `json:"decision"`
	Hash     string `json:"args_sha256"`
}

// find returns the last decision about a call in a ledger, or nil, and the reason of an alarm, or
// "". The ledger has verified the file when it was opened.
func find(path, id string) (was *decided, stopped string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	call := jcs.AppendText([]byte(`"call":`), id)
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, call) && !bytes.Contains(line, []byte(`"decision":"`+alarm+`"`)) {
			continue
		}
		var x struct {
			Kind string `json:"kind"`
			Data struct {
				decided
				Call   string `json:"call"`
				Reason string `json:"reason"`
			} `json:"data"`
		}
		if err := json.Unmarshal(line, &x); err != nil {
			return nil, "", err
		}
		if x.Kind == kindCall && x.Data.Call == id {
			was = &x.Data.decided
		}
		if x.Kind == kindRan && x.Data.Decision == alarm {
			stopped = x.Data.Reason
		}
	}
	return was, stopped, nil
}

// compare returns what is wrong about an executed call whose arguments have a hash, or "".
func compare(was *decided, hash string) string {
	switch {
	case was == nil:
		return "ran without a decision"
	case was.Decision == string(hostpolicy.Deny):
		return "ran although it was denied"
	case was.Hash != hash:
		return "ran with other arguments than those that were judged"
	}
	return ""
}
