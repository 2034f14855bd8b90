package hostcheck

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// verdict returns wrong if it is not nil, otherwise ok.
func verdict(wrong *Verdict) Verdict {
	if wrong != nil {
		return *wrong
	}
	return passed
}

// prompt makes two exchanges on one process, with nothing between them.
func prompt(s *session) Verdict {
	for range 2 {
		t := &talk{s: s}
		if v := t.runExchange(); v != nil {
			return *v
		}
		if v := t.isNot("text", `"prompt"`); v != nil {
			return *v
		}
		if v := s.checkQuiet("the next prompt"); v != nil {
			return *v
		}
	}
	return passed
}

// checkQuiet checks that the process waits and writes nothing, until something.
func (s *session) checkQuiet(until string) *Verdict {
	e, came := s.unasked(settle, settle)
	if !came {
		return nil
	}
	v := s.failed("no further output after the exchange until "+until, "the line %s", quoteLine(e.line.Text))
	if e.err != nil {
		v = s.failed("a process that waits for "+until, "%s", s.p.endReason(s.ctx, e.err))
	}
	s.endProcess()
	return &v
}

// expectMessage makes an exchange in which a message of the type must come. A host that does not
// know the check may omit it.
func (t *talk) expectMessage(typ, why string, members ...string) Verdict {
	if v := t.runExchange(); v != nil {
		return *v
	}
	if t.received[typ] == 0 {
		if t.s.ack.can(testable) {
			return *t.fails("a message of type "+typ, "%s", quoteLine(t.result))
		}
		return skipped(why)
	}
	return verdict(t.isNot(members...))
}

func checkProgress(s *session) Verdict {
	return (&talk{s: s}).expectMessage("progress", "it reported no progress", "text", `"progress"`)
}

func checkQuestion(s *session) Verdict {
	return (&talk{s: s}).expectMessage("question", "it asked nothing", "text", `"two"`)
}

// checkApproval allows an action once, only for a testable host.
func checkApproval(s *session) Verdict {
	t := &talk{s: s, answer: func(m *effect.HostMessage, n int) *effect.ExchangeReply {
		if m.Type != "approval" || !s.ack.can(testable) {
			return nil
		}
		return &effect.ExchangeReply{Value: [][]byte{[]byte(`"yes"`), []byte(`"not now"`)}[min(n, 1)]}
	}}
	return t.expectMessage("approval", "it did not request an approval", "allowed", "[true,false]", "reason", `"not now"`)
}

// toolCall answers a testable host's first call and refuses the second.
func toolCall(s *session) Verdict {
	t := &talk{s: s, answer: func(m *effect.HostMessage, n int) *effect.ExchangeReply {
		if m.Type != "tool_call" || n > 0 || !s.ack.can(testable) {
			return nil
		}
		return &effect.ExchangeReply{Value: []byte(`{"n":2}`)}
	}}
	return t.expectMessage("tool_call", "it called no tool", "value", `{"n":2}`, "refused", `"concerto test: no handler for tool_call"`)
}

// fault expects an error, after which the process continues.
func fault(s *session) Verdict {
	t := &talk{s: s}
	if v := t.runExchange(); v != nil {
		return *v
	}
	if t.typ != hostmsg.Error {
		if s.ack.can(testable) {
			return *t.fails("an error", "%s", quoteLine(t.result))
		}
		return skipped("it sent no error message")
	}
	return verdict(s.checkQuiet("the next prompt"))
}

// checkCancel ends an exchange early.
func checkCancel(s *session) Verdict {
	if v := s.ready(); v != nil {
		return *v
	}
	if !s.ack.can("cancel") {
		return skipped("it does not announce the capability cancel")
	}
	t := &talk{s: s, cancel: true}
	if v := t.runExchange(); v != nil {
		return *v
	}
	if !t.cancelSent {
		return skipped("it finished before it was cancelled")
	}
	return verdict(s.checkQuiet("the next prompt"))
}

// checkText checks everything that the host has written so far: a process that sends messages must
// write nothing else.
func checkText(s *session) Verdict {
	t := &talk{s: s}
	if v := t.runExchange(); v != nil {
		return *v
	}
	if s.plain != "" && s.p.spoken {
		return s.failed("only messages on standard output", "the line %s", s.plain)
	}
	return verdict(t.isNot("text", `"text"`))
}

// bigSize is the length of the text of a long line: more than a pipe can contain, and more than
// line readers accept by default.
const bigSize = 1 << 20

func bigLine(s *session) Verdict {
	return s.echoes(strings.Repeat("0123456789abcdef", bigSize/16))
}

// utf8 tests characters that readers and writers of lines often handle wrongly: those of two, three
// and four bytes, combining ones, and those that other rules treat as line ends.
func utf8(s *session) Verdict {
	return s.echoes("é e\u0301 ß 你好 \U0001F600 \u200f\u2028\u2029\u0085 \" \\ \t end")
}

// echoes sends a text as the context, which a testable host returns.
func (s *session) echoes(text string) Verdict {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	// Unescaped: Marshal escapes two of the characters.
	line := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(quoted))
	t := &talk{s: s, context: []byte(`{"text":` + line + `}`)}
	if v := t.runExchange(); v != nil {
		return *v
	}
	return verdict(t.isNot("text", line))
}

// checkExit closes the host's input and waits for its exit.
func checkExit(s *session) Verdict {
	if v := s.ready(); v != nil {
		return *v
	}
	defer s.endProcess()
	s.p.conn.CloseWrite()
	timer := time.NewTimer(leaving)
	defer timer.Stop()
	const want = "exit code 0 after standard input is closed"
	select {
	case <-s.p.conn.Done():
	case <-timer.C:
		return s.failed(want, "the process still runs after %s", formatSeconds(leaving))
	case <-s.ctx.Done():
		return Verdict{}
	}
	if code := s.p.conn.Exit().Code; code != 0 {
		return s.failed(want, "exit code %d", code)
	}
	return passed
}
