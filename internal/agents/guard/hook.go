package guard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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
	"github.com/concerto-lang/concerto/runtime/host/adapter"
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

// verified is the number of bytes at the end of a ledger that each call verifies: some 500 records.
// `concerto audit verify` verifies all.
const verified = 256 << 10

// MaxInput is the maximum size of a hook's input in bytes.
const MaxInput = 64 << 20

// Hook decides about one event of an agent.
type Hook struct {
	Agent   string // one of SupportedAgents
	Event   string // the event, for agents whose input does not name it
	Places  Places
	Environ []string
	Getenv  func(name string) string
	// CursorHooked reports whether Cursor has hooks of its own.
	CursorHooked func() bool
	// Program returns AgentProgram.
	Program  func() string
	CanAsk   func() bool   // reports whether a person is at the agent's terminal
	Persons  Persons       // asks persons; nil if none can be asked
	Deadline time.Duration // of a decision without a person; 0 means Deadline
	Sync     func() error  // called before each record is written; nil outside of tests

	extend func(time.Duration) // extends the deadline
}

// Run reads an event from stdin and writes the answer. It returns the exit code: 2 for a denial,
// which is also the result of everything that fails, and 0 otherwise.
func (h *Hook) Run(stdin io.Reader, stdout, stderr io.Writer) int {
	began := time.Now()
	c := contractOf(h.Agent)
	if c == nil {
		c = &contracts()[0]
	}
	late := time.NewTimer(cmp.Or(h.Deadline, Deadline))
	h.extend = func(d time.Duration) { late.Reset(d + cmp.Or(h.Deadline, Deadline)) }
	done := make(chan answer, 1)
	go func() {
		in := &input{event: c.firstEvent()}
		defer func() {
			if p := recover(); p != nil {
				done <- c.reply(in, deny("the guard has failed: %v", p))
			}
		}()
		text, err := io.ReadAll(io.LimitReader(stdin, MaxInput+1))
		switch {
		case err != nil:
			err = fmt.Errorf("read the input: %v", err)
		case len(text) > MaxInput:
			err = fmt.Errorf("the input has more than %d bytes", MaxInput)
		case c.agent != h.Agent:
			err = fmt.Errorf("the hooks of %s are not supported", h.Agent)
		default:
			in, err = c.read(text, h.Event, h.Getenv(c.project))
		}
		a := c.reply(in, h.handle(c, in, err, began))
		if in.at == beforeCall {
			probe := in.call.probe()
			probe.fail(late)
			if probe == ProbeCut {
				a.stdout = a.stdout[:len(a.stdout)/2] + "\n"
			}
		}
		done <- a
	}()
	var a answer
	select {
	case a = <-done:
	case <-late.C:
		a = c.reply(&input{event: c.firstEvent()}, deny("no decision within %v", cmp.Or(h.Deadline, Deadline)))
	}
	if _, err := io.WriteString(stdout, a.stdout); err != nil && a.code == 0 {
		a.code, a.stderr = 2, "concerto guard: write the answer: "+err.Error()+"\n"
	}
	_, _ = io.WriteString(stderr, a.stderr) // the exit code also denies
	return a.code
}

var errNoState = errors.New("neither XDG_STATE_HOME nor HOME is set")

// unreadable is the name of the ledger for inputs that name no session.
const unreadable = "unreadable"

// handle returns the decision about an event, after it is in the ledger. problem is what is wrong
// about the input, or nil.
func (h *Hook) handle(c *contract, in *input, problem error, began time.Time) Decision {
	var d Decision
	var policies []*Policy
	switch {
	case problem != nil:
		d = deny("%v", problem)
		in.session, in.at = cmp.Or(in.session, unreadable), beforeCall
	case in.cursor && c.agent != "cursor":
		// Cursor also runs the hooks of Claude Code. Its own hook decides, if there is one.
		if h.CursorHooked() {
			return Decision{Verdict: hostpolicy.Pass}
		}
		d = deny("the hooks of Cursor are not installed: run `concerto guard install cursor`")
	case in.at == onSettings:
		d = deny("built in: settings must not change during a session")
	case in.at == afterSession:
		h.withdraw(in.session, "")
		return Decision{Verdict: hostpolicy.Pass}
	case in.at == afterCall:
		policies, _ = h.Places.load(in.call.Dir, in.call.Project) // without policies, fewer secrets are known
	default:
		h.prepare(in)
		if d, policies = h.Places.decide(&in.call); in.call.probe() == "" {
			d = stricter(d, h.unchecked(policies))
		} else {
			in.program = h.Program()
		}
		d = h.resolve(c, in, d, policies)
	}
	out, err := h.record(in, d, policies, began)
	switch {
	case err != nil && problem != nil:
		return deny("%v; this could not be recorded: %v", problem, err)
	case err != nil:
		return deny("the decision could not be recorded: %v", err)
	}
	return out
}

// unchecked returns a denial if a policy requires that the agent's program was checked as it is,
// and it was not.
func (h *Hook) unchecked(policies []*Policy) Decision {
	at := slices.IndexFunc(policies, func(p *Policy) bool { return p.rules.Recheck == "deny" })
	if at < 0 {
		return Decision{}
	}
	program := h.Program()
	checks, err := h.Places.Checked()
	if err == nil && program != "" && checks[h.Agent] == program {
		return Decision{}
	}
	p := policies[at]
	d := Decision{Verdict: hostpolicy.Deny, File: p.file}
	p.setDefault(&d, "recheck", "deny", "this program of "+h.Agent+" was not checked with `concerto guard check "+h.Agent+"`")
	return d
}

// prepare sets what functions need to decide about a call.
func (h *Hook) prepare(in *input) {
	c := &in.call
	c.id, c.subagent, c.deadline, c.extend = in.id, in.subagent, h.Deadline, h.extend
	if in.at == beforeAsk {
		c.earlier = func(policies []*Policy) *decided { return h.decided(in, policies) }
	}
}

// decided returns the recorded decision about the arguments of a call, or nil.
func (h *Hook) decided(in *input, policies []*Policy) *decided {
	clean, err := h.cleaner(policies)
	if err != nil {
		return nil
	}
	was, _, err := find(h.ledger(in.session), "", in.call.Tool, decision.Hash(judged(in.call.Tool, clean(slices.Clone(in.call.Args)))))
	if err != nil {
		return nil
	}
	return was
}

// record writes the decision to the ledger of the session. For an executed call, it returns the
// result of the comparison with the decision.
func (h *Hook) record(in *input, d Decision, policies []*Policy, began time.Time) (Decision, error) {
	if h.Places.State == "" {
		return d, errNoState
	}
	clean, err := h.cleaner(policies)
	if err != nil {
		return d, err
	}
	if err := os.MkdirAll(h.Places.Guard(), 0o700); err != nil {
		return d, err
	}
	if _, err := os.Lstat(h.ledger(in.session)); errors.Is(err, fs.ErrNotExist) {
		h.Places.prune(policies, time.Now()) // once in each session
	}
	log, err := h.open(h.ledger(in.session), time.Now())
	if err != nil {
		return d, err
	}
	defer log.Close()
	args := clean(slices.Clone(in.call.Args))
	hash := ""
	if args != nil && in.at != onSettings {
		if hash = decision.Hash(judged(in.call.Tool, args)); hash == "" && d.Verdict != hostpolicy.Deny {
			return d, errors.New("the arguments have no canonical form")
		}
	}
	call := ""
	if in.at == afterCall {
		call = in.id
	}
	was, stopped, err := find(log.Path(), call, "", "")
	if err != nil {
		return d, err
	}
	run, err := ledger.Begin(log, ledger.RunOptions{ID: in.session, Clean: clean, Before: h.Sync})
	if err != nil {
		return d, err
	}
	kind, outcome := kindCall, ""
	switch {
	case in.at == afterCall:
		if was != nil && (was.Decision == string(hostpolicy.Ask) || in.call.Tool == adapter.ClaudeAsks) {
			h.withdraw(in.session, hash)
		}
		kind, outcome = kindRan, ranAsDecided
		if problem := compare(was, hash); problem != "" && !in.call.isHarmless() {
			stopped = in.call.Tool + " " + problem
		}
		if stopped != "" {
			outcome = alarm
			d = deny("session %s is stopped: %s", in.session, stopped)
		}
	case stopped != "":
		d = deny("session %s is stopped: %s", in.session, stopped)
	}
	who := d.actor()
	if stopped != "" {
		who = audit.Actor{Type: "rule", Name: stoppedBy}
	}
	data := ledger.Data{ArgsSHA256: hash, Call: in.id, Decision: cmp.Or(outcome, string(d.Verdict)), MS: time.Since(began).Milliseconds(), Reason: d.Reason, Session: in.session, Tool: &in.call.Tool}
	if d.answer != nil {
		data.Answer = clean(slices.Clone(d.answer))
	}
	if kind == kindCall {
		if data.Asked, err = in.asked(args, policies); err != nil {
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
	return d, run.Record(kind, who, ledger.Subject{Host: &in.call.Agent, ID: id}, &data)
}

// asked returns what the ledger contains about a call. args are its arguments without secrets. They
// are left out if a policy requires it, or if the policies are not known.
func (in *input) asked(args []byte, policies []*Policy) (json.RawMessage, error) {
	asked := map[string]any{"cwd": in.call.Dir, "event": in.event, "mode": in.mode}
	if in.program != "" {
		asked["program"] = in.program
	}
	if args != nil && policies != nil && !slices.ContainsFunc(policies, func(p *Policy) bool { return p.rules.Content == "none" }) {
		asked["args"] = json.RawMessage(args)
	}
	if in.call.Project != "" {
		asked["project"] = in.call.Project
	}
	if in.call.names != nil {
		asked["names"] = in.call.names
	}
	return jsonwrite.Encode(asked)
}

// actor returns the rule, the function or the person that has decided.
func (d *Decision) actor() audit.Actor {
	if d.by != nil {
		return *d.by
	}
	if d.File == "" {
		return audit.Actor{Type: "rule", Name: "built-in"}
	}
	at := d.File
	if d.Line > 0 {
		at = fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	return audit.Actor{Type: "rule", Name: strings.TrimSpace(d.Key + " " + d.Rule), At: at}
}

// ledger returns the path of the ledger of a session.
func (h *Hook) ledger(session string) string {
	return filepath.Join(h.Places.Guard(), session+".ndjson")
}

// open opens the ledger of a session. Concurrent calls of the session wait for one another.
func (h *Hook) open(path string, began time.Time) (*ledger.Ledger, error) {
	for {
		log, err := ledger.Open(path, ledger.Options{SyncEach: true, Verify: verified})
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
type decided struct{ Decision, Hash, Reason string }

// stoppedBy is the name of the actor of all records after an alarm. The last record therefore
// shows whether a session is stopped.
const stoppedBy = "stopped"

// find returns the last decision about a call, or about a call of a tool whose arguments have a
// hash, and why the session is stopped, or "". The decision is nil if there is none, or if id and
// hash are "".
func find(path, id, tool, hash string) (was *decided, stopped string, err error) {
	sought := id != "" || hash != ""
	text := cmp.Or(hash, string(jcs.AppendText([]byte(`"call":`), id)))
	for _, size := range []int64{verified, math.MaxInt64} {
		lines, whole, err := lastLines(path, size)
		if err != nil {
			return nil, "", err
		}
		for i, line := range slices.Backward(lines) {
			last := i == len(lines)-1
			if !last && (!sought || !bytes.Contains(line, []byte(text))) {
				continue
			}
			x, err := readRecord(line)
			if err != nil {
				return nil, "", err
			}
			if last {
				stopped = x.stopped()
			}
			if sought && x.Kind == kindCall && (hash == "" && x.Data.Call == id || hash != "" && x.Data.Tool == tool && x.Data.Hash == hash) {
				return &decided{x.Data.Decision, x.Data.Hash, x.Data.Reason}, stopped, nil
			}
		}
		if !sought || whole {
			break
		}
	}
	return nil, stopped, nil
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
