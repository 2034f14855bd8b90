package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// PolicyJournal is a Journal that hears what the program says of effects of which a resumed run
// may not know whether they were done.
type PolicyJournal interface {
	Journal
	// Policy is called just before Began, for an effect of class once or settled within a
	// function with `@on_unknown` or `@idempotent`, with what the innermost one says: "retry",
	// "fail" or "ask", and that function's name.
	Policy(e int64, policy, function string)
}

// tellPolicy tells the journal what the program says of an effect that is about to begin.
func (m *VM) tellPolicy(e int64, t *task, r effect.Request) {
	j, hears := m.config.Journal.(PolicyJournal)
	if !hears || t == nil || effect.Of(r.Kind()) == nil {
		return
	}
	if c := effect.ClassOf(r); c != effect.ClassOnce && c != effect.ClassSettled {
		return
	}
	if policy, function := t.onUnknown(); policy != "" {
		j.Policy(e, policy, function)
	}
}

// onUnknown is what the innermost function that says anything of such effects says: of those that
// the task is in, else of those in which the tasks are that wait for it; with its name.
func (t *task) onUnknown() (policy, function string) {
	for x := t; x != nil; {
		fp, pc := x.frame(), x.pc()
		for fp != nil && pc > 0 {
			if f := x.m.image.blockAt(pc).fn; f != nil && f.info != nil && f.info.OnUnknown != "" {
				return f.info.OnUnknown, f.info.Name
			}
			fp, pc = x.caller(fp)
		}
		if x.member.group == nil {
			return "", ""
		}
		x = x.member.group.t
	}
	return "", ""
}

// frame is the task's frame, also while it is parked; nil before it has one.
func (t *task) frame() unsafe.Pointer {
	if t.stack == nil && int(t.parked.depth) < len(t.parked.slots) {
		return unsafe.Pointer(&t.parked.slots[t.parked.depth])
	}
	return t.fp
}
