package ir

// States are the classes of a program's registers at its instructions, as computed by the verifier.
// Code that stores registers, such as a snapshot, uses them to determine which of a frame's
// registers are set, and which half of each. The program must have passed Verify.
//
// States are not safe for concurrent use.
type States struct {
	v    verifier
	flow flow
}

// NewStates returns the states of a program.
func NewStates(p *Program) *States {
	return &States{v: verifier{p: p, calls: NewCalls(p)}}
}

// Walk visits function f. For each reachable instruction, it calls at with the classes before it,
// several times if the dataflow visits it several times: the last call is valid. For ListenBegin
// they are the classes between two handlers, below its window. at must not retain the classes.
func (s *States) Walk(f int, at func(b *Block, pc int, c Classes)) {
	c := &codeVerifier{verifier: &s.v, index: f, f: &s.v.p.Functions[f]}
	s.flow.seen = at
	s.flow.run(c)
	s.flow.seen = nil
}
