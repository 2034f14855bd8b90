package ir

import "fmt"

// rule is a condition on operand n in addition to the operand's role, which the verifier has
// already checked. It returns a description of the violation, or "".
type rule func(s *site, i Instr, n int) (wrong string)

// site is the function, and the kind of block, that contains an instruction.
type site struct {
	p       *Program
	f       *Function
	handler bool // the block belongs to a handler
}

// problemUnless returns complaint if ok is false, and otherwise "".
func problemUnless(ok bool, complaint string) string {
	if ok {
		return ""
	}
	return complaint
}

func checkInt(s *site, _ Instr, n int) string {
	return problemUnless(s.p.Constants[n].Int != nil, "the constant is no Int")
}

func checkFloat(s *site, _ Instr, n int) string {
	return problemUnless(s.p.Constants[n].Float != nil, "the constant is no Float")
}

func checkText(s *site, _ Instr, n int) string {
	return problemUnless(s.p.Constants[n].String != nil, "the constant is no String")
}

func checkErrorField(s *site, i Instr, n int) string {
	if wrong := checkText(s, i, n); wrong != "" {
		return wrong
	}
	switch k := *s.p.Constants[n].String; k {
	case "message", "kind", "source":
		return ""
	default:
		return fmt.Sprintf("%q is no field of every error", k)
	}
}

func checkFlag(_ *site, _ Instr, n int) string { return problemUnless(in(n, 2), "neither 0 nor 1") }

func shift(_ *site, _ Instr, n int) string {
	return problemUnless(in(n, 64), "shift of more than 63 bits")
}

func checkDivisor(_ *site, _ Instr, n int) string { return problemUnless(n != 0, "division by zero") }

func checkOperator(_ *site, _ Instr, n int) string {
	return problemUnless(in(n, int(AnyGe)+1), "unknown operator")
}

func countReceiver(_ *site, _ Instr, n int) string {
	return problemUnless(n > 0, "a method needs a receiver")
}

func checkRaceTasks(_ *site, _ Instr, n int) string {
	return problemUnless(n > 0, "a race of no tasks")
}

func checkOneOrTwo(_ *site, _ Instr, n int) string {
	return problemUnless(n == 1 || n == 2, "takes one or two arguments")
}

func checkIndirectCall(s *site, _ Instr, n int) string {
	f := &s.p.Functions[n]
	return problemUnless(f.ABI == FullABI && f.Captures == 0, "the function cannot be called indirectly")
}

func checkNoCaptures(s *site, _ Instr, n int) string {
	return problemUnless(s.p.Functions[n].Captures == 0, "the function needs a closure")
}

func checkCaptures(s *site, i Instr, n int) string {
	if f := &s.p.Functions[n]; f.ABI != FullABI || f.Captures != int(i.C) {
		return fmt.Sprintf("the function takes %d captures, abi %s", f.Captures, f.ABI)
	}
	return ""
}

func checkSpawned(s *site, i Instr, n int) string {
	if f := &s.p.Functions[n]; f.ABI != FullABI || f.Captures != 0 || f.Body || len(f.Params) != int(i.C) {
		return fmt.Sprintf("the function takes %d arguments and %d captures, abi %s", len(f.Params), f.Captures, f.ABI)
	}
	return ""
}

func checkCaptured(s *site, _ Instr, n int) string {
	if n >= s.f.Captures {
		return fmt.Sprintf("the function has %d captures", s.f.Captures)
	}
	return ""
}

func checkStruct(s *site, _ Instr, n int) string {
	t := &s.p.Types[n]
	if t.Kind == "struct" || t.Kind == "schema" || t.Kind == "error" && t.Name != "" {
		return ""
	}
	return t.Kind + " is no struct"
}

func checkVariant(s *site, i Instr, n int) string {
	t := &s.p.Types[n]
	return problemUnless(t.Kind == "enum" && int(i.C) < len(t.Variants), "no such variant")
}

func checkInHandler(s *site, _ Instr, _ int) string {
	return problemUnless(s.handler, "outside a handler")
}

func checkInBody(s *site, _ Instr, _ int) string {
	return problemUnless(s.f.Body && !s.handler, "outside the body of a concurrent expression")
}

// back checks a return instruction: it must not be in a handler, and class must be the class of the
// function's result.
func (s *site) back(class Class) string {
	switch {
	case s.handler:
		return "within a handler"
	case s.f.Result != class:
		return fmt.Sprintf("the function's result is %s", s.f.Result)
	}
	return ""
}

// Indexed returns the length of the table that an operand with this role indexes. ok is false if
// operands with this role do not index a table.
func (p *Program) Indexed(role Role, f *Function) (length int, ok bool) {
	switch role {
	case RoleConstant:
		return len(p.Constants), true
	case RoleFunction:
		return len(p.Functions), true
	case RoleNative:
		return len(p.Natives), true
	case RoleType:
		return len(p.Types), true
	case RoleListen:
		return len(f.Listens), true
	case RoleAgent:
		return len(p.Agents), true
	case RoleHost:
		return len(p.Hosts), true
	case RoleTool:
		return len(p.Tools), true
	case RoleStore:
		return len(p.Stores), true
	}
	return 0, false
}
