package ir

// The effects of instructions on registers. The verifier and the optimiser use them.

// Shape contains the information about registers and control from the row of an operation, in a
// form for fast access.
type Shape struct {
	Reads   []Read
	A, B, C bool  // the fields that Reads contains
	Writes  Class // class of register A after the instruction; Unset if the instruction sets no register or has a frame
	Modify  bool  // the instruction also reads A
	Window  bool  // the instruction reads a window or the arguments of a frame
	Frame   bool  // the instruction is a call: it sets the first register of its frame and clears the following ones
	Target  bool  // Imm is an instruction that may follow
	Back    bool  // that instruction may be before this one (a loop)
	Ends    bool  // control never continues at the next instruction
	window  frameShape
}

// Read is an operand that reads a register.
type Read struct {
	Field Field
	Class Class
}

// frameShape describes the registers of a window or frame; see Operand.
type frameShape struct {
	Field    Field
	Count    Count
	Preserve Preserve
}

// shapeFor returns the shape of a row. "make gen" writes all of them to Shapes.
func shapeFor(row *Info) (s Shape) {
	s.Ends = row.Traits.Has(Ends)
	for _, o := range row.Operands {
		s.operand(o)
	}
	for _, r := range s.Reads {
		s.A, s.B, s.C = s.A || r.Field == A, s.B || r.Field == B, s.C || r.Field == C
	}
	return s
}

func (s *Shape) operand(o Operand) {
	switch o.Role {
	case RoleRead:
		s.Reads = append(s.Reads, Read{o.Field, o.Class})
	case RoleWrite, RoleModify:
		s.Writes = o.Class
		if o.Role == RoleModify {
			s.Modify = true
			s.Reads = append(s.Reads, Read{o.Field, o.Class})
		}
	case RoleWindow, RoleFrame:
		s.Window, s.Frame, s.window = true, o.Role == RoleFrame, frameShape{o.Field, o.Count, o.Preserve}
	case RoleTarget, RoleBack:
		s.Target, s.Back = true, o.Role == RoleBack
	}
}

// ShapeOf returns the shape of an instruction's operation.
func ShapeOf(i Instr) *Shape { return &Shapes[i.Op] }

// Window returns the n registers, starting with from, that an instruction reads in a window or
// frame. Their classes are params, or Full if params is nil.
func (p *Program) Window(i Instr) (from, n int, params []Class) {
	s := &Shapes[i.Op]
	if !s.Window {
		return 0, 0, nil
	}
	from = i.Get(s.window.Field)
	if s.Frame {
		from++
	}
	switch c := s.window.Count; c {
	case countB:
		n = int(i.B)
	case countC:
		n = int(i.C)
	case countTwiceC:
		n = 2 * int(i.C)
	case countFields:
		n = len(p.Types[i.Imm].Fields)
	case countPayload:
		n = len(p.Types[i.Imm].Variants[i.C].Fields)
	case countParams:
		params = p.Functions[i.Imm].Params
		n = len(params)
	case countCallee:
		from, n = from-1, int(i.B)+1
	default:
		n = int(c)
	}
	return from, n, params
}

// Nowhere is greater than all register numbers.
const Nowhere = 256

// Sets describes how an instruction changes registers. The instruction sets Register to Class;
// Register is -1 if it sets none. A call also makes the registers from Lost on unreadable, except
// Register and Preserved. Preserved is the receiver, which is Full after the call even if the call
// raises an error. It is -1 if the call preserves no receiver. Lost is Nowhere for an instruction
// that is not a call.
type Sets struct {
	Register        int
	Class           Class
	Preserved, Lost int
}

// Calls contains the information about a program's calls that their instructions do not contain.
type Calls struct {
	p *Program
	// returnsReceiver reports, by the name of a method, whether every method with that name is
	// mutself.
	returnsReceiver map[string]bool
}

// NewCalls collects the information from the program's methods.
func NewCalls(p *Program) *Calls {
	c := &Calls{p: p, returnsReceiver: make(map[string]bool, len(p.Methods))}
	for _, m := range p.Methods {
		others, met := c.returnsReceiver[m.Name]
		c.returnsReceiver[m.Name] = p.Functions[m.Function].MutSelf && (others || !met)
	}
	return c
}

// Sets returns how an instruction changes registers when it completes. If an instruction raises an
// error, it has not set Register. A call that raises an error has nevertheless lost and preserved
// registers as described.
func (c *Calls) Sets(i Instr) Sets {
	s := &Shapes[i.Op]
	switch {
	case s.Writes != Unset:
		return Sets{int(i.A), s.Writes, -1, Nowhere}
	case !s.Frame:
		return Sets{-1, Unset, -1, Nowhere}
	}
	out := Sets{int(i.A), Full, -1, int(i.A)}
	if s.window.Count == countParams {
		out.Class = c.p.Functions[i.Imm].Result
	}
	if c.preserves(s.window.Preserve, i) {
		out.Preserved = int(i.A) + 1
	}
	return out
}

func (c *Calls) preserves(k Preserve, i Instr) bool {
	switch k {
	case preserveFirst:
		return i.B > 0
	case preserveMutSelf:
		return c.p.Functions[i.Imm].MutSelf
	case preserveByName:
		return c.returnsReceiver[*c.p.Constants[i.Imm].String]
	}
	return false
}

// Classes contains, for a point in the code, the class as which each register can be read. A
// register that has different classes on two paths to the point cannot be read.
type Classes []Class

// Meet retains the classes that are equal in c and d, and sets the others to Unset. It reports
// whether c changed.
func (c Classes) Meet(d Classes) (changed bool) {
	for r, class := range d {
		if c[r] != class && c[r] != Unset {
			c[r], changed = Unset, true
		}
	}
	return changed
}

// Fits reports whether register r can be read as a class.
func (c Classes) Fits(r int, as Class) bool { return c[r] == as || c[r] == Full }

// Step changes the classes before an instruction to those after it.
func (c *Calls) Step(i Instr, s Classes) {
	shape := &Shapes[i.Op]
	if shape.Writes != Unset {
		s[i.A] = shape.Writes
	} else if shape.Frame {
		c.after(c.Sets(i), s)
	}
}

// after changes the classes before a call to those after it. The register that the call sets
// receives x.Class.
func (c *Calls) after(x Sets, s Classes) {
	clear(s[x.Lost:])
	s[x.Register] = x.Class
	if x.Preserved >= 0 {
		s[x.Preserved] = Full
	}
}

// Raised changes the classes before a call to those after an error in the call. It is only for
// calls, because the errors of other instructions do not change the classes.
func (c *Calls) Raised(i Instr, s Classes) {
	x := c.Sets(i)
	x.Class = Unset
	c.after(x, s)
}
