package tape

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/vm"
)

// DivergedError means that a program behaves differently from the recorded run whose results it
// receives. The recording is a tape or the journal of a durable run.
type DivergedError struct {
	At      string      // position in the program as FILE:LINE:COLUMN; "" if the source is unknown
	Place   vm.Place    // the same position, if the program was replayed from a tape
	Effect  int64       // number of the effect; 0 if the difference is not an effect
	Kind    effect.Kind // kind of the effect
	Reason  string      // describes what the recording contains instead
	Diff    string      // difference between the recorded request and the new one; "" if there is no recorded request
	Journal bool        // the recording is the journal of a durable run
	Ends    bool        // the recording contains no further effects
	Err     error       // cause, if the difference is not an effect; may be nil
}

func (e *DivergedError) Error() string {
	if e.At == "" {
		return e.Message()
	}
	return e.At + ": " + e.Message()
}

// Message returns the text of the error without the position.
func (e *DivergedError) Message() string {
	text := e.Reason
	switch {
	case e.Err != nil:
		text = e.Err.Error()
	case e.Effect != 0 && e.Journal:
		text = fmt.Sprintf("%s (effect %d) is not in the journal%s", e.Kind, e.Effect, e.Reason)
	case e.Effect != 0:
		text = fmt.Sprintf("%s (effect %d) is not in the tape%s", e.Kind, e.Effect, e.Reason)
	}
	if e.Diff != "" {
		text += ":\n" + e.Diff
	}
	return text
}

// Unwrap returns Err.
func (e *DivergedError) Unwrap() error { return e.Err }

// missingError returns the error for a request without an entry on the tape. text is the request.
func (p *Player) missingError(e int64, k key, text []byte) error {
	out := &DivergedError{Effect: e - p.before, Kind: k.kind, Ends: true}
	best, bestFree, fewest := -1, false, 0
	for i := range p.tape.Entries {
		x := &p.tape.Entries[i]
		if x.Q == "" {
			continue
		}
		if !p.used[i] {
			out.Ends = false
		}
		if x.Q != k.kind {
			continue
		}
		free := !p.used[i]
		n := countDifferences(x.R, text)
		if best < 0 || free && !bestFree || free == bestFree && n < fewest {
			best, bestFree, fewest = i, free, n
		}
	}
	if best >= 0 {
		out.Diff = unified(pretty(p.tape.Entries[best].R), pretty(text))
	}
	switch {
	case out.Ends:
		out.Reason = ": the tape ends here"
	case best < 0:
		out.Reason = fmt.Sprintf(": it has no %s", k.kind)
	case !bestFree:
		out.Reason = fmt.Sprintf("; the nearest, on line %d, was already used by effect %d", p.tape.Entries[best].line, p.took[best]-p.before)
	case out.Diff == "" && p.of[best] != 0:
		out.Reason = fmt.Sprintf("; the nearest, on line %d, refers to what effect %d opened", p.tape.Entries[best].line, p.of[best])
	default:
		out.Reason = fmt.Sprintf("; the nearest is on line %d", p.tape.Entries[best].line)
	}
	return out
}

// countDifferences returns the number of leaves in which two JSON values differ.
func countDifferences(a, b []byte) int {
	var x, y any
	if json.Unmarshal(orNull(a), &x) != nil || json.Unmarshal(orNull(b), &y) != nil {
		return 1 << 30
	}
	return countDifferentLeaves(x, y)
}

func countDifferentLeaves(x, y any) int {
	switch a := x.(type) {
	case map[string]any:
		if b, ok := y.(map[string]any); ok {
			n := 0
			for name, v := range a {
				n += countDifferentLeaves(v, b[name])
			}
			for name, v := range b {
				if _, both := a[name]; !both {
					n += countDifferentLeaves(nil, v)
				}
			}
			return n
		}
	case []any:
		if b, ok := y.([]any); ok {
			n := 0
			for i := range max(len(a), len(b)) {
				n += countDifferentLeaves(at(a, i), at(b, i))
			}
			return n
		}
	}
	if isSame(x, y) {
		return 0
	}
	return max(countLeaves(x), countLeaves(y))
}

func at(all []any, i int) any {
	if i < len(all) {
		return all[i]
	}
	return nil
}

func isSame(x, y any) bool {
	a, err := json.Marshal(x)
	b, err2 := json.Marshal(y)
	return errors.Join(err, err2) == nil && string(a) == string(b)
}

// countLeaves returns the number of leaves in a JSON value.
func countLeaves(x any) int {
	n := 0
	switch x := x.(type) {
	case map[string]any:
		for _, v := range x {
			n += countLeaves(v)
		}
	case []any:
		for _, v := range x {
			n += countLeaves(v)
		}
	}
	return max(n, 1)
}

func orNull(text []byte) []byte {
	if len(text) == 0 {
		return []byte("null")
	}
	return text
}

// canonical returns a JSON text in canonical form, or "{}" for an empty text.
func canonical(text []byte) string {
	if len(text) == 0 || string(text) == "{}" {
		return ""
	}
	if c, err := jcs.Canonical(text); err == nil {
		return string(c)
	}
	return string(text)
}
