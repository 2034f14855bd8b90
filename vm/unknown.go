package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// PolicyJournal is a Journal that also receives the program's policies for interrupted effects. A
// policy applies when a resumed run cannot determine whether such an effect was performed.
type PolicyJournal interface {
	Journal
	// Policy is called just before EffectBegan for an effect of class once or settled in a function
	// with `@on_unknown` or `@idempotent`. policy is the policy of the innermost such function:
	// "retry", "fail" or "ask". function is its name.
	Policy(e int64, policy, function string)
}

// reportPolicy reports to the journal the policy for an effect that is about to begin.
func (m *VM) reportPolicy(e int64, t *task, r effect.Request) {
	j, ok := m.config.Journal.(PolicyJournal)
	if !ok || t == nil || effect.Lookup(r.Kind()) == nil {
		return
	}
	if c := effect.ClassOf(r); c != effect.ClassOnce && c != effect.ClassSettled {
		return
	}
	if policy, function := t.onUnknown(); policy != "" {
		j.Policy(e, policy, function)
	}
}

// onUnknown returns the policy and the name of the innermost function that has a policy. It
// searches the functions that the task executes, and then those of the tasks that wait for the
// task.
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

// frame returns the frame pointer of a running or parked task, or nil before the task has a frame.
func (t *task) frame() unsafe.Pointer {
	if t.stack == nil && int(t.parked.depth) < len(t.parked.slots) {
		return unsafe.Pointer(&t.parked.slots[t.parked.depth])
	}
	return t.fp
}
