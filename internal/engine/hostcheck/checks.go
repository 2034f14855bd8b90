package hostcheck

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// verdict returns *wrong, or the passed verdict if wrong is nil.
func verdict(wrong *Verdict) Verdict {
	if wrong != nil {
		return *wrong
	}
	return passed
}

// prompt makes two exchanges on one process. The process must write nothing between them.
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

// checkQuiet checks that the process waits for its input and writes nothing before the event until.
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

// expectMessage makes an exchange in which a message of type typ must arrive. A host that is not
// testable may omit the message; the check is then skipped.
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

// checkApproval allows the approval request of a testable host once.
func checkApproval(s *session) Verdict {
	t := &talk{s: s, answer: func(m *effect.HostMessage, n int) *effect.ExchangeReply {
		if m.Type != "approval" || !s.ack.can(testable) {
			return nil
		}
		return &effect.ExchangeReply{Value: [][]byte{[]byte(`"yes"`), []byte(`"not now"`)}[min(n, 1)]}
	}}
	return t.expectMessage("approval", "it did not request an approval", "allowed", "[true,false]", "reason", `"not now"`)
}

// toolCall answers the first tool call of a testable host and refuses the second one.
func toolCall(s *session) Verdict {
	t := &talk{s: s, answer: func(m *effect.HostMessage, n int) *effect.ExchangeReply {
		if m.Type != "tool_call" || n > 0 || !s.ack.can(testable) {
			return nil
		}
		return &effect.ExchangeReply{Value: []byte(`{"n":2}`)}
	}}
	return t.expectMessage("tool_call", "it called no tool", "value", `{"n":2}`, "refused", `"concerto test: no handler for tool_call"`)
}

// fault expects an error message, after which the process must still accept a prompt.
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

// checkCancel cancels an exchange before its end.
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

// checkText checks all output of the host so far. A host that sends JSON messages must write
// nothing else.
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

// bigSize is the length of the text in a long line, in bytes. It is longer than the buffer of a
// pipe and than the default limit of common line readers.
const bigSize = 1 << 20

func bigLine(s *session) Verdict {
	return s.echoes(strings.Repeat("0123456789abcdef", bigSize/16))
}

// utf8 tests characters that programs often read or write incorrectly: characters of two, three and
// four bytes, combining characters, and characters that some programs treat as line ends.
func utf8(s *session) Verdict {
	return s.echoes("é e\u0301 ß 你好 \U0001F600 \u200f\u2028\u2029\u0085 \" \\ \t end")
}

// echoes sends a text as the context of a prompt. A testable host must return the same text.
func (s *session) echoes(text string) Verdict {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	// json.Marshal escapes two of the characters, which the host must also accept unescaped.
	line := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(quoted))
	t := &talk{s: s, context: []byte(`{"text":` + line + `}`)}
	if v := t.runExchange(); v != nil {
		return *v
	}
	return verdict(t.isNot("text", line))
}

// checkExit closes the host's input and waits until the host exits.
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
		return s.failed(want, "the process still runs after %s", effect.Seconds(leaving.Seconds()))
	case <-s.ctx.Done():
		return Verdict{}
	}
	if code := s.p.conn.Exit().Code; code != 0 {
		return s.failed(want, "exit code %d", code)
	}
	return passed
}
