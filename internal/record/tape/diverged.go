package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// Missing says that a run has made an effect that is not on its tape.
type Missing struct {
	Effect int64
	Kind   effect.Kind
	Ends   bool   // nothing is left on the tape
	Taken  int64  // the nearest entry was taken by this effect; 0 when it is free
	Line   int    // of the nearest entry; 0 when there is none of the kind
	Of     int64  // the nearest entry asks the same of what another effect opened, this one; else 0
	Diff   string // from the nearest entry to what was asked for
}

func (e *Missing) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (effect %d) is not in the tape", e.Kind, e.Effect)
	switch {
	case e.Ends:
		b.WriteString(": the tape ends here")
	case e.Line == 0:
		fmt.Fprintf(&b, ": it has no %s", e.Kind)
	case e.Taken != 0:
		fmt.Fprintf(&b, "; the nearest, on line %d, was taken by effect %d already", e.Line, e.Taken)
	case e.Of != 0:
		fmt.Fprintf(&b, "; the nearest, on line %d, is about what effect %d opened", e.Line, e.Of)
	default:
		fmt.Fprintf(&b, "; the nearest is on line %d", e.Line)
	}
	if e.Diff != "" {
		b.WriteString(":\n" + e.Diff)
	}
	return b.String()
}

// missing is the error for a request that no entry has.
func (p *Player) missing(e int64, k key, text []byte) error {
	out := &Missing{Effect: e, Kind: k.kind, Ends: true}
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
		n := differing(x.R, text)
		if best < 0 || free && !bestFree || free == bestFree && n < fewest {
			best, bestFree, fewest = i, free, n
		}
	}
	if best < 0 {
		return out
	}
	x := &p.tape.Entries[best]
	out.Line, out.Diff = x.line, unified(pretty(x.R), pretty(text))
	switch {
	case !bestFree:
		out.Taken = p.took[best]
	case out.Diff == "":
		out.Of = p.of[best]
	}
	return out
}

// differing counts the leaves in which two JSON values differ.
func differing(a, b []byte) int {
	var x, y any
	if json.Unmarshal(orNull(a), &x) != nil || json.Unmarshal(orNull(b), &y) != nil {
		return 1 << 30
	}
	return leaves(x, y)
}

func leaves(x, y any) int {
	switch a := x.(type) {
	case map[string]any:
		if b, ok := y.(map[string]any); ok {
			n := 0
			for name, v := range a {
				n += leaves(v, b[name])
			}
			for name, v := range b {
				if _, both := a[name]; !both {
					n += leaves(nil, v)
				}
			}
			return n
		}
	case []any:
		if b, ok := y.([]any); ok {
			n := 0
			for i := range max(len(a), len(b)) {
				n += leaves(at(a, i), at(b, i))
			}
			return n
		}
	}
	if same(x, y) {
		return 0
	}
	return max(size(x), size(y))
}

func at(all []any, i int) any {
	if i < len(all) {
		return all[i]
	}
	return nil
}

func same(x, y any) bool {
	a, err := json.Marshal(x)
	b, err2 := json.Marshal(y)
	return errors.Join(err, err2) == nil && string(a) == string(b)
}

// size is how many leaves a value has.
func size(x any) int {
	n := 0
	switch x := x.(type) {
	case map[string]any:
		for _, v := range x {
			n += size(v)
		}
	case []any:
		for _, v := range x {
			n += size(v)
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

// canonical is a text in canonical form; "" stands for an object with nothing in it.
func canonical(text []byte) string {
	if len(text) == 0 || string(text) == "{}" {
		return ""
	}
	if c, err := jcs.Canonical(text); err == nil {
		return string(c)
	}
	return string(text)
}
