package value

import "unsafe"

// block is the layout of all objects that consist of slots: a head, a second word, then Head.N
// slots in the same allocation. The second word is the type, or a closure's function. The memory is
// allocated as slots: head and second word occupy the first one.
type block struct {
	Head
	second unsafe.Pointer
}

// SlotSize is the size of a slot in bytes: slot n of a block is at byte (1+n)*SlotSize.
const SlotSize = unsafe.Sizeof(Slot{})

// newBlock allocates a block of n nil slots. Array types of constant size are allocated in two
// thirds of the time that make takes.
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

// fields returns the slots of the block at ref. They are the block's own memory.
func fields(ref unsafe.Pointer) []Slot {
	if (*Head)(ref).N == 0 {
		return nil // and no pointer past the end of the block
	}
	return unsafe.Slice((*Slot)(unsafe.Add(ref, SlotSize)), (*Head)(ref).N)
}

// New makes a block of kind k with variant number sub (0 unless an enum), type
// t and copies of slots.
func New(k Kind, sub uint16, t *Type, slots ...Slot) Slot {
	ref := newBlock(k, sub, len(slots), unsafe.Pointer(t))
	copy(fields(ref), slots)
	return Slot{0, ref}
}

// Fields returns the slots of a tuple, struct, enum value, Some box, range, closure, cell, agent,
// host or tool, and nil for other values. They are the block's own memory: only its owner may write
// to them.
func (s Slot) Fields() []Slot {
	if s.Ref == nil || (*Head)(s.Ref).N == 0 {
		return nil
	}
	return fields(s.Ref)
}

// Variant returns the variant number of an enum value (a Result: 0 is Ok).
func (s Slot) Variant() int { return int((*Head)(s.Ref).Sub) }

// Type returns the run-time type of a struct, schema value, error, enum value, agent, host or tool;
// nil for anything else.
func (s Slot) Type() *Type {
	switch s.Kind() {
	case KindStruct, KindEnum, KindAgent, KindHost, KindTool:
		return (*Type)((*block)(s.Ref).second)
	}
	return nil
}

// Tuple makes a tuple.
func Tuple(slots ...Slot) Slot { return New(KindTuple, 0, nil, slots...) }

// The variants of a Result.
const (
	VariantOk  = 0
	VariantErr = 1
)

// Ok makes Ok(v).
func Ok(v Slot) Slot { return newResult(VariantOk, v) }

// Err makes Err(v).
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

// Some returns Some(v): v itself, unless v is nil or a Some box, which is boxed to distinguish it
// from None.
func Some(v Slot) Slot {
	if k := v.Kind(); k == KindNil || k == KindSome {
		return New(KindSome, 0, nil, v)
	}
	return v
}

// Unwrap returns what Some holds; s is not None.
func Unwrap(s Slot) Slot {
	if s.Kind() == KindSome {
		return fields(s.Ref)[0]
	}
	return s
}

// Flatten returns s as an Any: Some(v) is v, at any depth.
func Flatten(s Slot) Slot {
	for n := 0; s.Kind() == KindSome; n++ {
		if n > maxNesting {
			panicTooDeep()
		}
		s = fields(s.Ref)[0]
	}
	return s
}

// NewCell makes a cell that holds v.
func NewCell(v Slot) Slot { return New(KindCell, 0, nil, v) }

// Function is the part of a function that values use. The VM's own function type begins with one,
// so that a closure's second word points to both.
type Function struct {
	Name   string // "" for a closure expression
	Params int
}

// NewClosure makes a closure of f over captured slots.
func NewClosure(f *Function, captured ...Slot) Slot {
	ref := newBlock(KindClosure, 0, len(captured), unsafe.Pointer(f))
	copy(fields(ref), captured)
	return Slot{0, ref}
}

// Function returns the function of a closure; nil for anything else.
func (s Slot) Function() *Function {
	if s.Kind() != KindClosure {
		return nil
	}
	return (*Function)((*block)(s.Ref).second)
}

// Handle is a reference value that carries a Go object: a task, a store, a
// pipeline. It compares by identity.
type Handle struct {
	Head
	Type   string // as typeof prints it: "Memory"
	Name   string // "" for one without declaration
	Object any
}

// NewHandle makes a handle.
func NewHandle(typ, name string, object any) Slot {
	return new(Handle).Init(typ, name, object)
}

// Init makes h a handle, which may be embedded in its object, and returns its value.
func (h *Handle) Init(typ, name string, object any) Slot {
	*h = Handle{Head: Head{Kind: KindHandle}, Type: typ, Name: name, Object: object}
	return Slot{0, unsafe.Pointer(h)}
}

// Handle returns the handle in s, or nil when s is none.
func (s Slot) Handle() *Handle {
	if s.Kind() != KindHandle {
		return nil
	}
	return (*Handle)(s.Ref)
}

// typeDesc is a type as a value.
type typeDesc struct {
	Head
	t *Type
}

// NewTypeDesc returns the value for type t.
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
