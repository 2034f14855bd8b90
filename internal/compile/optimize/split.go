package optimize

import "slices"

// frameRoom is the maximum number of registers of a function for which the machine need not
// allocate memory at each call.
const frameRoom = 64

// split assigns a separate register to each value while registers are free. The register then still
// contains the value when it is needed again. Temporaries in loops come first. A value that is live
// across a call stays in its register, which is below the call's window. A variable that a debugger
// may read across a call stays there as well.
func split(u *unit, w *webs) {
	used := [256]bool{}
	deepest := int32(-1)
	for n := range w.all {
		x := &w.all[n]
		x.crosses = x.crosses || slices.ContainsFunc(x.defs, func(pc int32) bool { return u.isReadable(int(pc)) })
		switch {
		case x.fixed || x.crosses:
			used[x.reg] = true
		case len(x.defs) > 0:
			deepest = max(deepest, x.depth)
		}
	}
	for depth := deepest; depth >= 0; depth-- {
		for n := range w.all {
			x := &w.all[n]
			if x.depth != depth || x.fixed || x.crosses || len(x.defs) == 0 {
				continue
			}
			if !used[x.reg] {
				used[x.reg] = true
				continue
			}
			if u.f.Registers >= frameRoom {
				return
			}
			u.rename(x, u.f.Registers)
			u.f.Registers++
		}
	}
}

// rename moves a web to register to.
func (u *unit) rename(x *web, to int) {
	for _, pc := range x.defs {
		u.code[pc].A = uint8(to)
	}
	for _, s := range x.uses {
		u.code[s.pc].Set(s.field, int64(to))
	}
	x.reg = to
	u.changed, u.touched = true, true
}
