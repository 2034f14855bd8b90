package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/value"
)

// opCallMethod finds a method by the receiver's run-time type. One whose
// parameters have defaults is listed once an arity, the full one first.
func opCallMethod(t *task, in *ins) status {
	receiver := value.Flat(*t.slot(in.a + 1))
	*t.slot(in.a + 1) = receiver
	call := methodCall{name: in.imm, params: in.b, on: receiverOf(receiver)}
	last := t.m.called.of(call)
	if last.methodCall == call && call.on.known() {
		return t.enter(in.a, last.entry, nil)
	}
	name := t.m.constants[in.imm].AsString()
	var known *function
	for _, x := range t.m.methods[name] {
		if !x.fits(receiver) {
			continue
		}
		if x.fn.Params == int(in.b) {
			*last = calledMethod{call, x.fn.entry}
			return t.enter(in.a, x.fn.entry, nil)
		}
		if known == nil {
			known = x.fn
		}
	}
	if known != nil {
		return t.fault("method %s of %s takes %s, called with %d", name, value.TypeName(receiver), count(known.Params-1, "argument"), in.b-1)
	}
	if v, ok := value.FieldByName(receiver, name); ok && v.Kind() == value.KindClosure {
		return t.fault("%s has no method %s; to call its field write (x.%s)(…)", value.TypeName(receiver), name, name)
	}
	return t.fault("%s has no method %s", value.TypeName(receiver), name)
}

// calledMethods are methods that were called lately, so that a call of the same
// name on the same type need not look it up: that took three quarters of a call.
type calledMethods [64]calledMethod

type calledMethod struct {
	methodCall
	entry int
}

// A methodCall is all that says which method is called.
type methodCall struct {
	name   int32 // the constant
	params uint8
	on     receiver
}

// A receiver is what methods are found by: a struct's or enum's type, or the
// kind of a value whose type is of no account. Of others it is nothing.
type receiver struct {
	typ  *value.Type
	kind value.Kind
}

func receiverOf(s value.Slot) receiver {
	switch k := s.Kind(); k {
	case value.KindInt, value.KindFloat, value.KindBool, value.KindArray, value.KindMap:
		return receiver{kind: k}
	case value.KindStruct, value.KindEnum:
		return receiver{typ: s.Type(), kind: k}
	}
	return receiver{}
}

// known says that two calls on the same receiver find the same method. A
// Result has no type to tell it by.
func (r receiver) known() bool {
	return r.typ != nil || r.kind != value.KindStruct && r.kind != value.KindEnum && r.kind != value.KindNil
}

// of is where a call is to be found, if it is there.
func (c *calledMethods) of(call methodCall) *calledMethod {
	at := uintptr(call.name)*7 + uintptr(unsafe.Pointer(call.on.typ))>>4 + uintptr(call.on.kind)
	return &c[at%uintptr(len(c))]
}
