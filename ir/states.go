package ir

// States are the classes of a program's registers at its instructions, as the verifier finds
// them. What keeps registers, such as a snapshot, learns from them which of a frame's registers
// hold something, and which half of each. The program must have passed Verify.
//
// States are not safe for concurrent use.
type States struct {
	v    verifier
	flow flow
}

// NewStates makes the states of a program.
func NewStates(p *Program) *States {
	return &States{v: verifier{p: p, calls: NewCalls(p)}}
}

// Walk goes through function f. For each instruction that control comes to, at has the classes
// before it, more than once where the dataflow does: those of the last time hold. For ListenBegin
// they are those that hold between two handlers, below its window. at must not keep the classes.
func (s *States) Walk(f int, at func(b *Block, pc int, c Classes)) {
	c := &codeVerifier{verifier: &s.v, index: f, f: &s.v.p.Functions[f]}
	s.flow.seen = at
	s.flow.run(c)
	s.flow.seen = nil
}
