package optimize

import "github.com/concerto-lang/concerto/ir"

// A listen's handlers use the registers of its function, and run any number of
// times during the listen. The passes work on the function's own code only. The
// registers that it shares with handlers stay where they are and always count
// as live; after the listen nothing is known of their values.

// shared returns the registers that must keep their place: the receiver of a
// mutself function, which is given back however the function ends, and those
// that handlers read or set.
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
			t.dropFrom(int(in.A)) // those are the handlers' own
			s.join(&t)
		}
	}
	s.drop(0)
	return s
}

// ofHandlers adds the registers that a listen's handlers name.
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
