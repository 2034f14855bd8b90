package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// OnUnknown returns the program's policy for an interrupted effect that the task performs: "retry",
// "fail" or "ask", and the name of the function that has it. The policy applies when a resumed run
// cannot determine whether the effect was performed. It is that of the innermost function with
// `@on_unknown` or `@idempotent`. policy is "" if there is none, or if the effect is of another
// class than once and settled.
func (s Scene) OnUnknown(r effect.Request) (policy, function string) {
	if effect.Lookup(r.Kind()) == nil {
		return "", ""
	}
	switch effect.ClassOf(r) {
	case effect.ClassOnce, effect.ClassSettled:
		return s.t.onUnknown()
	}
	return "", ""
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
