package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// PolicyJournal is a Journal that receives the program's policy for effects of which a resumed run
// may not know whether they were performed.
type PolicyJournal interface {
	Journal
	// Policy is called just before EffectBegan, for an effect of class once or settled within a
	// function with `@on_unknown` or `@idempotent`. policy is that of the innermost such function:
	// "retry", "fail" or "ask"; function is its name.
	Policy(e int64, policy, function string)
}

// reportPolicy reports to the journal the policy for an effect that is about to begin.
func (m *VM) reportPolicy(e int64, t *task, r effect.Request) {
	j, ok := m.config.Journal.(PolicyJournal)
	if !ok || t == nil || effect.Of(r.Kind()) == nil {
		return
	}
	if c := effect.ClassOf(r); c != effect.ClassOnce && c != effect.ClassSettled {
		return
	}
	if policy, function := t.onUnknown(); policy != "" {
		j.Policy(e, policy, function)
	}
}

// onUnknown returns the policy of the innermost function that has one, and its name: of the
// functions that the task executes, else of those in the tasks that wait for it.
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

// frame returns the task's frame, also while it is parked; nil before it has one.
func (t *task) frame() unsafe.Pointer {
	if t.stack == nil && int(t.parked.depth) < len(t.parked.slots) {
		return unsafe.Pointer(&t.parked.slots[t.parked.depth])
	}
	return t.fp
}
