// Package value implements the values of programs: slots and the objects to which they refer, with
// copy-on-write, equality, order, JSON and text. It depends on no other package of Concerto, has no
// side effects, and does not use static types.
//
// Invariants: a slot on the heap determines its kind. The slot of nil is {0, nil}. The Ref of a
// scalar points to a static head. Any other Ref points to the first word of its object, which is a
// Head. Only VM registers may contain stale Refs. Code that dereferences a Ref must check the head
// first.
package value

import (
	"math"
	"unsafe"
)

// Slot is a value. Bits contains a scalar, and Ref determines the kind.
type Slot struct {
	Bits uint64
	Ref  unsafe.Pointer
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of values. The heads of scalars are static.
const (
	KindNil Kind = iota // the Ref is nil, so no head has this kind
	KindInt
	KindFloat
	KindBool
	KindString
	KindArray
	KindMap
	KindTuple
	KindStruct   // structs, schema values and errors; the block's Type distinguishes them
	KindEnum     // enum values, including Results; Head.Sub is the variant
	KindSome     // Some whose payload is nil or a Some
	KindRange    // see range.go
	KindClosure  // the slots are the captured values, and the second word is the function
	KindCell     // one slot, shared by closures
	KindAgent    // the slots are a Party
	KindHost     // the slots are a Party
	KindTool     // the slots are the state of the tool
	KindHandle   // Go object: a task, store or pipeline
	KindTypeDesc // run-time type as a value, for the library
)

// kindNames contains the results of typeof. For blocks with a type, the result is the name of the
// type.
var kindNames = [...]string{"Nil", "Int", "Float", "Bool", "String", "Array", "Map", "Tuple", "Struct", "Enum", "Option",
	"Range", "Function", "Cell", "Agent", "Host", "Tool", "Handle", "Type"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Invalid"
}

// Head is the first word of every object.
type Head struct {
	Kind  Kind
	Flags uint8  // FlagShared or 0
	Sub   uint16 // representation of an array, or variant of an enum
	N     uint32 // number of slots that field operations may access, otherwise 0
}

// FlagShared means that two places may refer to the object. It is never removed, but a copy does
// not have it.
const FlagShared = 1

// The heads of scalars, which are never written.
var (
	IntHead   = Head{Kind: KindInt}
	FloatHead = Head{Kind: KindFloat}
	BoolHead  = Head{Kind: KindBool}
)

// Nil is the value nil, which is also None.
var Nil Slot

// Int returns an Int.
func Int(n int64) Slot { return Slot{uint64(n), unsafe.Pointer(&IntHead)} }

// Float returns a Float.
func Float(f float64) Slot { return Slot{math.Float64bits(f), unsafe.Pointer(&FloatHead)} }

// Bool returns a Bool.
func Bool(b bool) Slot {
	if b {
		return Slot{1, unsafe.Pointer(&BoolHead)}
	}
	return Slot{0, unsafe.Pointer(&BoolHead)}
}

// Kind returns the kind of the value.
func (s Slot) Kind() Kind {
	if s.Ref == nil {
		return KindNil
	}
	return (*Head)(s.Ref).Kind
}

// IsNil reports whether s is nil or None.
func (s Slot) IsNil() bool { return s.Ref == nil }

// AsInt returns the value of s, which must be an Int.
func (s Slot) AsInt() int64 { return int64(s.Bits) }

// AsFloat returns the value of s, which must be a Float.
func (s Slot) AsFloat() float64 { return math.Float64frombits(s.Bits) }

// AsBool returns the value of s, which must be a Bool.
func (s Slot) AsBool() bool { return s.Bits != 0 }

// Number returns an Int or a Float as float64. ok is false for other values.
func (s Slot) Number() (f float64, ok bool) {
	switch s.Kind() {
	case KindInt:
		return float64(s.AsInt()), true
	case KindFloat:
		return s.AsFloat(), true
	}
	return 0, false
}

// TypeName returns the name of the value's type as in typeof: "Int", "Array", the name of a struct,
// and so on.
func TypeName(s Slot) string {
	switch k := s.Kind(); k {
	case KindStruct, KindEnum:
		if t := s.Type(); t != nil && t.Name != "" {
			return t.Name
		} else if t != nil && t.Kind == TypeResult {
			return "Result"
		}
		return k.String()
	case KindHandle:
		return s.Handle().Type
	default:
		return k.String()
	}
}

// kindStrs contains the names of the kinds as complete Strings, which runs may share.
var kindStrs [len(kindNames)]Str

func init() {
	for k, name := range kindNames {
		kindStrs[k].complete(name)
	}
}

// TypeNameOf returns TypeName as a String. The Strings of kinds are preallocated, so a match on
// typeof does not allocate memory.
func TypeNameOf(s Slot) Slot {
	switch k := s.Kind(); k {
	case KindStruct, KindEnum, KindHandle:
		return String(TypeName(s))
	default:
		return Slot{0, unsafe.Pointer(&kindStrs[k])}
	}
}
