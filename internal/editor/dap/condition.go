package dap

import (
	"strconv"
	"strings"
)

// hits is a parsed hitCondition. It selects the passes at which the run stops.
type hits struct {
	op    string // operator: "==", ">=", ">", "<", "<=" or "%"; "" for no condition
	n     int64
	wrong string // error message for an invalid condition, or ""
}

// parseHits reads `5`, `>= 5` and `% 5`.
func parseHits(text string) (h hits) {
	text = strings.TrimSpace(text)
	if text == "" {
		return h
	}
	h.op = "=="
	for _, op := range []string{"==", ">=", "<=", ">", "<", "%"} {
		if rest, ok := strings.CutPrefix(text, op); ok {
			h.op, text = op, strings.TrimSpace(rest)
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || h.op == "%" && n == 0 {
		h.wrong = "a hit condition is a number, as in `5`, `>= 5` or `% 5`"
	}
	h.n = n
	return h
}

// matches reports whether the condition holds at a pass. The first pass is 1.
func (h hits) matches(pass int64) bool {
	switch h.op {
	case "==":
		return pass == h.n
	case ">=":
		return pass >= h.n
	case ">":
		return pass > h.n
	case "<=":
		return pass <= h.n
	case "<":
		return pass < h.n
	case "%":
		return pass%h.n == 0
	}
	return true
}

// matchBreakpoints returns the ids of those breakpoints at which the run stops. The editor may
// delete a breakpoint while its condition is evaluated.
func (r *Run) matchBreakpoints(x *stopState, all []*breakpoint) (ids []int) {
	for _, b := range all {
		if r.stopsAt(x, b) && r.debuggee.points.all[b.id] == b {
			ids = append(ids, b.id)
		}
	}
	return ids
}

// stopsAt reports whether the run stops at a breakpoint that it has reached. It evaluates the
// breakpoint's conditions.
func (r *Run) stopsAt(x *stopState, b *breakpoint) bool {
	a := &b.ask
	if a.condition != "" {
		yes, err := r.evaluateCondition(x, a.condition)
		if err != nil {
			if !a.reported {
				a.reported = true
				r.s.sendOutput("important", "the condition `"+a.condition+"`: "+err.Error()+"\n")
			}
			return a.log == ""
		}
		if !yes {
			return false
		}
	}
	a.count++
	if !parseHits(a.hits).matches(a.count) {
		return false
	}
	if a.log != "" {
		r.s.print("console", r.formatLogMessage(x, a.log)+"\n")
		return false
	}
	return true
}
