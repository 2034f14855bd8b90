package ir

// States computes the classes of a program's registers at its instructions, with the dataflow of
// the verifier. A debugger uses it to determine which registers of a frame are set, and which half
// of each register is valid. The program must have passed Verify.
//
// States is not safe for concurrent use.
type States struct {
	v    verifier
	flow flow
}

// NewStates returns the states of a program.
func NewStates(p *Program) *States {
	return &States{v: verifier{p: p, calls: NewCalls(p)}}
}

// Walk visits function f. For each reachable instruction it calls at with the classes before the
// instruction. If the dataflow visits an instruction several times, it calls at each time, and the
// last call is valid. For ListenBegin, Walk passes the classes between two handlers, of the
// registers below the window of the listen. at must not retain the classes.
func (s *States) Walk(f int, at func(b *Block, pc int, c Classes)) {
	c := &codeVerifier{verifier: &s.v, index: f, f: &s.v.p.Functions[f]}
	s.flow.seen = at
	s.flow.run(c)
	s.flow.seen = nil
}
