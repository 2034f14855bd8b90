package value

import "unsafe"

// block is the layout of all objects that consist of slots: a head, a second word, and Head.N slots
// in the same allocation. The second word is the type of the object, or the function of a closure.
// The memory is allocated as slots, of which the first contains the head and the second word.
type block struct {
	Head
	second unsafe.Pointer
}

// SlotSize is the size of a slot in bytes: slot n of a block is at byte (1+n)*SlotSize.
const SlotSize = unsafe.Sizeof(Slot{})

// newBlock allocates a block of n nil slots. For small n it allocates an array type of constant
// size, which takes two thirds of the time of make.
func newBlock(k Kind, sub uint16, n int, second unsafe.Pointer) unsafe.Pointer {
	var mem unsafe.Pointer
	switch n {
	case 1:
		mem = unsafe.Pointer(new([2]Slot))
	case 2:
		mem = unsafe.Pointer(new([3]Slot))
	case 3:
		mem = unsafe.Pointer(new([4]Slot))
	default:
		mem = unsafe.Pointer(unsafe.SliceData(make([]Slot, 1+n)))
	}
	b := (*block)(mem)
	b.Head = Head{Kind: k, Sub: sub, N: uint32(n)}
	b.second = second
	return unsafe.Pointer(b)
}

// fields returns the slots of the block at ref without copying them.
func fields(ref unsafe.Pointer) []Slot {
	if (*Head)(ref).N == 0 {
		return nil // avoids a pointer past the end of the block
	}
	return unsafe.Slice((*Slot)(unsafe.Add(ref, SlotSize)), (*Head)(ref).N)
}

// New returns a block of kind k with type t and copies of slots. sub is the number of the variant,
// which is 0 except for enums.
func New(k Kind, sub uint16, t *Type, slots ...Slot) Slot {
	ref := newBlock(k, sub, len(slots), unsafe.Pointer(t))
	copy(fields(ref), slots)
	return Slot{0, ref}
}

// Fields returns the slots of a tuple, struct, enum value, Some box, range, closure, cell, agent,
// host or tool without copying them, and nil for other values. Only the owner of the value may
// write to them.
func (s Slot) Fields() []Slot {
	if s.Ref == nil || (*Head)(s.Ref).N == 0 {
		return nil
	}
	return fields(s.Ref)
}

// Variant returns the variant number of an enum value. Variant 0 of a Result is Ok.
func (s Slot) Variant() int { return int((*Head)(s.Ref).Sub) }

// Type returns the run-time type of a struct, schema value, error, enum value, agent, host or tool,
// and nil for other values.
func (s Slot) Type() *Type {
	switch s.Kind() {
	case KindStruct, KindEnum, KindAgent, KindHost, KindTool:
		return (*Type)((*block)(s.Ref).second)
	}
	return nil
}

// Tuple returns a tuple.
func Tuple(slots ...Slot) Slot { return New(KindTuple, 0, nil, slots...) }

// The variants of a Result.
const (
	VariantOk  = 0
	VariantErr = 1
)

// Ok returns Ok(v).
func Ok(v Slot) Slot { return newResult(VariantOk, v) }

// Err returns Err(v).
func Err(v Slot) Slot { return newResult(VariantErr, v) }

func newResult(variant uint16, v Slot) Slot {
	x := &struct {
		block
		payload Slot
	}{block{Head{Kind: KindEnum, Sub: variant, N: 1}, unsafe.Pointer(ResultType)}, v}
	return Slot{0, unsafe.Pointer(x)}
}

// IsResult reports whether s is a Result.
func (s Slot) IsResult() bool {
	if s.Kind() != KindEnum {
		return false
	}
	t := s.Type()
	return t != nil && t.Kind == TypeResult
}

// Some returns Some(v). The result is v itself, unless v is nil or a Some box. These are boxed, so
// that the result differs from None.
func Some(v Slot) Slot {
	if k := v.Kind(); k == KindNil || k == KindSome {
		return New(KindSome, 0, nil, v)
	}
	return v
}

// Unwrap returns the payload of a Some. s must not be None.
func Unwrap(s Slot) Slot {
	if s.Kind() == KindSome {
		return fields(s.Ref)[0]
	}
	return s
}

// Flatten returns s as an Any. It replaces Some(v) by v, at any depth.
func Flatten(s Slot) Slot {
	for n := 0; s.Kind() == KindSome; n++ {
		if n > maxNesting {
			panicTooDeep()
		}
		s = fields(s.Ref)[0]
	}
	return s
}

// NewCell returns a cell that contains v.
func NewCell(v Slot) Slot { return New(KindCell, 0, nil, v) }

// Function is the part of a function that this package uses. The VM's function type begins with a
// Function, so the second word of a closure points to both.
type Function struct {
	Name   string // "" for a closure expression
	Params int
}

// NewClosure returns a closure of f with captured slots.
func NewClosure(f *Function, captured ...Slot) Slot {
	ref := newBlock(KindClosure, 0, len(captured), unsafe.Pointer(f))
	copy(fields(ref), captured)
	return Slot{0, ref}
}

// Function returns the function of a closure, and nil for other values.
func (s Slot) Function() *Function {
	if s.Kind() != KindClosure {
		return nil
	}
	return (*Function)((*block)(s.Ref).second)
}

// Handle is a reference to a Go object, such as a task, a store or a pipeline. Handles are compared
// by identity.
type Handle struct {
	Head
	Type   string // result of typeof, such as "Memory"
	Name   string // name of the declaration; "" if there is none
	Object any
}

// NewHandle returns a handle as a value.
func NewHandle(typ, name string, object any) Slot {
	return new(Handle).Init(typ, name, object)
}

// Init initialises h, which may be embedded in its object, and returns it as a value.
func (h *Handle) Init(typ, name string, object any) Slot {
	*h = Handle{Head: Head{Kind: KindHandle}, Type: typ, Name: name, Object: object}
	return Slot{0, unsafe.Pointer(h)}
}

// Handle returns the handle in s, or nil for other values.
func (s Slot) Handle() *Handle {
	if s.Kind() != KindHandle {
		return nil
	}
	return (*Handle)(s.Ref)
}

// typeDesc is an object that contains a type.
type typeDesc struct {
	Head
	t *Type
}

// NewTypeDesc returns a type as a value.
func NewTypeDesc(t *Type) Slot {
	return Slot{0, unsafe.Pointer(&typeDesc{Head{Kind: KindTypeDesc}, t})}
}

// TypeDesc returns the type of a type descriptor, or nil for other values.
func (s Slot) TypeDesc() *Type {
	if s.Kind() != KindTypeDesc {
		return nil
	}
	return (*typeDesc)(s.Ref).t
}
