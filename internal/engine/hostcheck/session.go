package hostcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host"
)

// session runs the checks of one host. The checks share a process. If a check fails, the process is
// stopped and the next check starts another one.
type session struct {
	ctx      context.Context
	o        Options
	dialer   *host.Dialer
	check    string // name of the current check
	hint     string // hint of the current check
	remarked map[string]bool

	p     *peer
	began *Verdict // verdict of the start check; nil before the check
	inits *Verdict // verdict of the init check; nil before the check
	ack   ack

	plain string          // last output line that was not a message; "" if there was none
	wrong map[string]bool // faults of messages that were already reported
}

// ack contains the members of init_ack.
type ack struct {
	line         []byte
	Version      string
	Capabilities []string
}

func (a *ack) can(capability string) bool { return slices.Contains(a.Capabilities, capability) }

// emptyInit is the message for a host without parameters. Such a host need not support init.
const emptyInit = `{"type":"init","params":{}}` + "\n"

// endProcess stops the process, if there is one.
func (s *session) endProcess() {
	if s.p != nil {
		s.p.endHost()
		s.p = nil
	}
}

// startProcess starts a process.
func (s *session) startProcess() Verdict {
	const want = "a process that waits for its input"
	stderr := s.o.Stderr
	if stderr == nil {
		stderr = func([]byte) {}
	}
	conn, err := s.dialer.Dial(s.ctx, stderr)
	if err != nil {
		return s.failed(want, "%s", s.plainError(err))
	}
	s.p = newPeer(conn)
	return passed
}

// plainError returns the text of an error about a host. It omits the host's name, and omits the
// manifest's name if there is no manifest.
func (s *session) plainError(err error) string {
	text := strings.TrimPrefix(err.Error(), "host '"+s.o.Config.Name+"' ")
	if s.o.Config.Connector == "" {
		text = strings.ReplaceAll(text, " in [hosts.] of Concerto.toml", "")
	}
	return text
}

// checkStart returns the verdict of the start check. The first call runs the check.
func (s *session) checkStart() Verdict {
	if s.began == nil {
		defer s.useHintOf("start")()
		v := s.startProcess()
		if v.Outcome == OK {
			if e, came := s.unasked(early, starting); came {
				v = s.early(e)
				s.endProcess()
			}
		}
		s.began = &v
	}
	return *s.began
}

// unasked returns unrequested output that a process writes before it waits for its input. The wait
// is at most most if the system reports whether a process waits for input, and at most within
// otherwise. The agent of a vendor may send unrequested messages, except a result or an error.
func (s *session) unasked(within, most time.Duration) (event, bool) {
	vendor := host.UsesAdapter(&s.o.Config)
	for began := time.Now(); ; {
		left, waits := within-time.Since(began), false
		if !vendor {
			var ok bool
			if waits, ok = s.p.waits(); ok {
				left = min(most-time.Since(began), glance)
			}
		}
		if waits {
			return event{}, false
		}
		e, came := s.p.receiveEvent(s.ctx, left)
		switch {
		case !came && left == glance && s.ctx.Err() == nil:
			continue
		case !came || e.err != nil || !vendor:
			return e, came
		}
		m, is, err := host.Decode(e.line.Text)
		if err != nil || is && hostmsg.Lookup(m.Type).Terminal() {
			return e, true
		}
	}
}

// early returns the verdict for an event of a new process that has received nothing.
func (s *session) early(e event) Verdict {
	if e.err != nil {
		return s.failed("a process that waits for its input", "%s", s.p.endReason(s.ctx, e.err))
	}
	return s.failed("no output before the first message", "the line %s", quoteLine(e.line.Text))
}

// initialise returns the verdict of the init check. The first call runs the check. A host without
// parameters need not support init.
func (s *session) initialise() Verdict {
	if v := s.checkDependency("start", s.checkStart()); v != nil {
		return *v
	}
	if s.inits == nil {
		defer s.useHintOf("init")()
		v := s.handshake()
		s.inits = &v
		if v.Outcome != OK {
			s.endProcess()
		}
	}
	return *s.inits
}

// checkDependency returns the verdict of the current check if the check name, on which it depends,
// failed with the verdict v. The current check reports the failure, or is skipped if the failure
// was already reported. nil means that the current check can run.
func (s *session) checkDependency(name string, v Verdict) *Verdict {
	if v.Outcome != Fail {
		return nil
	}
	if s.remarked[name] {
		v = skipped(name + " failed")
	}
	s.remarked[name] = true
	return &v
}

// handshake sends init to a new process and receives init_ack.
func (s *session) handshake() Verdict {
	line, err := host.InitLine(&s.o.Config, s.o.Environ)
	if err != nil {
		return s.failed("its parameters", "that it %s", s.plainError(err))
	}
	// returns the verdict for a host that does not acknowledge init; a host without parameters need
	// not
	not := func(format string, args ...any) Verdict {
		if line == nil {
			return skipped("it has no parameters and does not handle init: " + fmt.Sprintf(format, args...))
		}
		return s.failed("init_ack", format, args...)
	}
	first := line
	if first == nil {
		first = []byte(emptyInit)
	}
	wait := host.InitWait(&s.o.Config)
	if !s.p.sendLine(s.ctx, first, wait) {
		return not("the host does not read its input")
	}
	e, came := s.p.receiveEvent(s.ctx, wait)
	for came && e.err == nil && host.UsesAdapter(&s.o.Config) && !ends(e.line.Text) {
		e, came = s.p.receiveEvent(s.ctx, wait)
	}
	switch {
	case !came:
		return not("no output within %s", effect.Seconds(wait.Seconds()))
	case e.err != nil:
		return not("%s", s.p.endReason(s.ctx, e.err))
	}
	m, is, err := host.Decode(e.line.Text)
	if err != nil || !is || hostmsg.Lookup(m.Type).Role != hostmsg.Acknowledges {
		return not("the line %s", quoteLine(e.line.Text))
	}
	s.p.spoken = true
	s.ack = ack{line: e.line.Text}
	// Unmarshal's error is ignored, because the ack check reports members with a wrong type.
	_ = json.Unmarshal(e.line.Text, &s.ack)
	return passed
}

// ends reports whether a line ends the handshake: it acknowledges init, ends an exchange or is
// invalid.
func ends(line []byte) bool {
	m, is, err := host.Decode(line)
	return err != nil || is && (hostmsg.Lookup(m.Type).Terminal() || hostmsg.Lookup(m.Type).Role == hostmsg.Acknowledges)
}

// acknowledge runs the ack check. It checks the members of init_ack, and that the host writes
// nothing after it.
func (s *session) acknowledge() Verdict {
	v := s.initialise()
	if n := s.checkDependency("init", v); n != nil {
		return *n
	}
	if v.Outcome == Skipped {
		return skipped("it was not initialised")
	}
	var members struct {
		Version      *string   `json:"version"`
		Capabilities *[]string `json:"capabilities"`
	}
	if err := json.Unmarshal(s.ack.line, &members); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return s.failed("capabilities as an array of strings and version as a string", "%s", quoteLine(s.ack.line))
		}
		return s.failed("init_ack", "%s", quoteLine(s.ack.line))
	}
	if s.p == nil {
		return passed
	}
	if e, came := s.unasked(settle, settle); came {
		defer s.endProcess()
		if e.err != nil {
			return s.failed("a process that waits for a prompt", "%s", s.p.endReason(s.ctx, e.err))
		}
		return s.failed("no output between init_ack and the prompt", "the line %s", quoteLine(e.line.Text))
	}
	return passed
}

// ready returns nil when an initialised process waits for a prompt. Otherwise it returns the
// verdict of the current check.
func (s *session) ready() *Verdict {
	if v := s.checkDependency("start", s.checkStart()); v != nil {
		return v
	}
	initialises := s.inits != nil
	v := s.initialise()
	if n := s.checkDependency("init", v); n != nil {
		return n
	}
	if s.p != nil {
		return nil
	}
	if v := s.startProcess(); v.Outcome != OK {
		return &v
	}
	if v.Outcome == OK && initialises {
		if second := s.handshake(); second.Outcome != OK {
			s.endProcess()
			v := s.failed("a new process that initialises in the same way", "%s", second.Got+second.Why)
			return &v
		}
	}
	return nil
}

// timeLimit returns the time limit of a check.
func (s *session) timeLimit() time.Duration {
	if s.o.Config.Timeout > 0 {
		return host.ExchangeWait(&s.o.Config)
	}
	return patience
}
