package optimize

import "github.com/concerto-lang/concerto/ir"

// The handlers of a listen use the registers of the enclosing function, and run any number of times
// during the listen. The passes change only the function's own code. Registers that the function
// shares with handlers are not renamed and always count as live. After the listen, no facts about
// their values are valid.

// shared returns the registers that must not be renamed: the receiver of a mutself function, which
// is returned whenever the function ends, and the registers that handlers read or set.
func (u *unit) shared() (s regs) {
	if u.f.MutSelf {
		s.add(1)
	}
	if len(u.f.Listens) == 0 {
		return s
	}
	for _, in := range u.code {
		if in.Op == ir.OpListenBegin {
			var t regs
			u.ofHandlers(int(in.Imm), &t)
			t.dropFrom(int(in.A)) // the registers from here on belong to the handlers
			s.join(&t)
		}
	}
	s.drop(0)
	return s
}

// ofHandlers adds the registers that the handlers of a listen use.
func (u *unit) ofHandlers(n int, s *regs) {
	for h := range u.f.Listens[n].Handlers {
		for _, in := range u.f.Listens[n].Handlers[h].Code {
			u.eachRead(in, s.add)
			if r, _, _ := u.sets(in); r >= 0 {
				s.add(r)
			}
			if in.Op == ir.OpListenBegin {
				u.ofHandlers(int(in.Imm), s)
			}
		}
	}
}
