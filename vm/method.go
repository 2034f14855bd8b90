package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// opCallMethod finds a method by the receiver's run-time type. A method with default parameters is
// listed once per arity, the function with all parameters first.
func opCallMethod(t *task, in *ins) status {
	receiver := value.Flatten(*t.slot(in.a + 1))
	*t.slot(in.a + 1) = receiver
	key, found := methodKey(receiver)
	last := t.m.methods.entry(key, in.imm)
	if found && last.on == key && last.name == in.imm && last.params == in.b {
		return t.enter(in.a, int(last.entry), nil)
	}
	name := t.m.image.constants[in.imm].AsString()
	var other *function
	for _, x := range t.m.image.methods[name] {
		if !x.appliesTo(receiver) {
			continue
		}
		if x.fn.Params == int(in.b) {
			if found {
				*last = cachedMethod{on: key, name: in.imm, entry: int32(x.fn.entry), params: in.b}
			}
			return t.enter(in.a, x.fn.entry, nil)
		}
		if other == nil {
			other = x.fn
		}
	}
	if other != nil {
		return t.fault("method %s of %s takes %s, called with %d", name, value.TypeName(receiver), count(other.Params-1, "argument"), in.b-1)
	}
	if v, ok := value.FieldByName(receiver, name); ok && v.Kind() == value.KindClosure {
		return t.fault("%s has no method %s; to call its field write (x.%s)(…)", value.TypeName(receiver), name, name)
	}
	return t.fault("%s has no method %s", value.TypeName(receiver), name)
}

// methodCache contains recently called methods. Without it, finding the method takes three quarters
// of the time of a call. The dispatch loop reads the cache, too.
type methodCache [64]cachedMethod

// cachedMethod is a called method and the start of its code. In an unused entry params is 0, which
// matches no call.
type cachedMethod struct {
	on     unsafe.Pointer // the receiver's methodKey
	name   int32          // index of the constant that contains the name
	entry  int32
	params uint8
}

// Keys of receivers whose exact type does not matter. Scalars use their heads as keys.
var stringKey, arrayKey, mapKey value.Head

// methodKey returns the key under which methods of s are cached: the type of a struct or enum, the
// head of a scalar, or a common key for all strings, arrays or maps. known is false for other
// values.
func methodKey(s value.Slot) (key unsafe.Pointer, known bool) {
	switch s.Kind() {
	case value.KindInt, value.KindFloat, value.KindBool:
		return s.Ref, true
	case value.KindString:
		return unsafe.Pointer(&stringKey), true
	case value.KindArray:
		return unsafe.Pointer(&arrayKey), true
	case value.KindMap:
		return unsafe.Pointer(&mapKey), true
	case value.KindStruct, value.KindEnum:
		typ := s.Type()
		return unsafe.Pointer(typ), typ != nil
	}
	return nil, false
}

// entry returns the entry for a call. The entry may currently contain another call.
func (c *methodCache) entry(key unsafe.Pointer, name int32) *cachedMethod {
	return &c[(uintptr(name)*7+uintptr(key)>>4)%uintptr(len(c))]
}
