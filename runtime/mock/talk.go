package mock

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// talk is the conversation of one exchange with a mocked host.
type talk struct {
	prompt string // prompt for which the closure created the conversation; used only with by
	steps  []step
}

// step is a step of a conversation: a message, a delay before the next message, or the exit of the
// process.
type step struct {
	line   []byte // the message as a line of the host; nil for other steps
	typ    string
	waitMS int64
	exit   *int64
	stderr string
}

func (s *step) terminal() bool { return s.exit != nil || hostmsg.Lookup(s.typ).Terminal() }

// talks divides steps into conversations. Each conversation ends with a terminal message.
func talks(steps []step) []*talk {
	var out []*talk
	begin := 0
	for i := range steps {
		if steps[i].terminal() || i == len(steps)-1 {
			out = append(out, &talk{steps: steps[begin : i+1]})
			begin = i + 1
		}
	}
	return out
}

// parseSteps parses the value of `messages`.
func parseSteps(what string, raw json.RawMessage) ([]step, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, bad("%s: `messages` is not an array", what)
	}
	var steps []step
	for i, m := range list {
		s, err := parseStep(fmt.Sprintf("%s: message %d", what, i+1), m)
		if err != nil {
			return nil, err
		}
		steps = append(steps, *s)
	}
	return steps, nil
}

// parseStep parses a step: an object with a `type`, a String for a line of plain text, or an object
// with `wait_ms` or `exit`.
func parseStep(what string, raw json.RawMessage) (*step, error) {
	if s, ok := parseString(raw); ok {
		return &step{line: resultLine(s), typ: hostmsg.Result}, nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, bad("%s is neither a Map nor a String: %s", what, raw)
	}
	if typ, ok := parseString(m["type"]); ok {
		return &step{line: raw, typ: typ}, nil
	}
	s := &step{}
	switch {
	case m["wait_ms"] != nil:
		if _, err := parseObject(what, raw, "wait_ms"); err != nil {
			return nil, err
		}
		if json.Unmarshal(m["wait_ms"], &s.waitMS) != nil || s.waitMS < 0 {
			return nil, bad("%s: `wait_ms` cannot be %s", what, m["wait_ms"])
		}
	case m["exit"] != nil:
		if _, err := parseObject(what, raw, "exit", "stderr"); err != nil {
			return nil, err
		}
		s.exit = new(int64)
		if json.Unmarshal(m["exit"], s.exit) != nil {
			return nil, bad("%s: `exit` cannot be %s", what, m["exit"])
		}
		s.stderr, _ = parseString(m["stderr"])
	default:
		return nil, bad("%s has no `type`: %s", what, raw)
	}
	return s, nil
}

// parseOutcomes parses the value of `responses`. Each response is a conversation.
func parseOutcomes(what string, raw json.RawMessage) ([]*talk, error) {
	var turns []json.RawMessage
	if json.Unmarshal(raw, &turns) != nil {
		return nil, bad("%s: `responses` is not an array", what)
	}
	var out []*talk
	for i, t := range turns {
		steps, err := parseTerminal(fmt.Sprintf("%s: response %d", what, i+1), t)
		if err != nil {
			return nil, err
		}
		out = append(out, &talk{steps: steps})
	}
	return out, nil
}

func resultLine(s string) []byte {
	return append(value.AppendString([]byte(`{"type":"`+hostmsg.Result+`","text":`), s), '}')
}

// parseTerminal parses a conversation that consists only of its terminal message: a text, the
// members of a result, or an `error`.
func parseTerminal(what string, raw json.RawMessage) ([]step, error) {
	if s, ok := parseString(raw); ok {
		return []step{{line: resultLine(s), typ: hostmsg.Result}}, nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, bad("%s is neither a String nor a Map: %s", what, raw)
	}
	e, isError := m["error"]
	switch {
	case !isError:
		return []step{{line: withType(hostmsg.Result, raw), typ: hostmsg.Result}}, nil
	case len(m) > 1:
		return nil, bad("%s has an error and more", what)
	}
	if s, ok := parseString(e); ok {
		e = append(value.AppendString([]byte(`{"message":`), s), '}')
	} else if _, err := parseObject(what+": its error", e, "message", "code", "recoverable", "session"); err != nil {
		return nil, err
	}
	return []step{{line: withType(hostmsg.Error, e), typ: hostmsg.Error}}, nil
}

// withType inserts a member `type` before the members of an object.
func withType(typ string, object json.RawMessage) []byte {
	line := []byte(`{"type":"` + typ + `"`)
	if len(object) > 2 {
		line = append(line, ',')
	}
	return append(line, object[1:]...)
}
