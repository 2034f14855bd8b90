// Package value implements the values of programs: slots and the objects that they refer to, with
// copy-on-write, equality, order, JSON and text. It depends on no other package of Concerto,
// performs no effects, and knows no static types.
//
// Invariants: a slot on the heap determines its own kind. The slot of nil is {0, nil}; a scalar's
// Ref points to a static head; any other Ref points to its object's first word, which is a Head.
// Only VM registers may hold stale Refs. Code that dereferences a Ref checks the head first.
package value

import (
	"math"
	"unsafe"
)

// Slot is one value. Bits holds a scalar, Ref determines the kind.
type Slot struct {
	Bits uint64
	Ref  unsafe.Pointer
}

// Kind is what an object is.
type Kind uint8

// The kinds of object. The scalars' heads are static.
const (
	KindNil Kind = iota // never in a head: a nil ref
	KindInt
	KindFloat
	KindBool
	KindString
	KindArray
	KindMap
	KindTuple
	KindStruct   // structs, schema values and errors, distinguished by the block's Type
	KindEnum     // variants of enums, Result among them; Head.Sub is the variant
	KindSome     // a Some whose payload is nil or a Some
	KindRange    // see range.go
	KindClosure  // slots: captures; the second word is the function
	KindCell     // one slot, shared by closures
	KindAgent    // slots: see package vm
	KindHost     // slots: see package vm
	KindTool     // slots: the tool's state
	KindHandle   // tasks, stores, pipelines: a Go object
	KindTypeDesc // a run-time type as a value, for library code
)

// kindNames lists the results of typeof; blocks are named by their type.
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
	Flags uint8  // FlagShared
	Sub   uint16 // array representation, enum variant
	N     uint32 // number of slots that field operations may reach; else 0
}

// FlagShared means that two places may hold the object. It is never cleared; a copy does not have
// it.
const FlagShared = 1

// The heads of scalars. They are never written.
var (
	IntHead   = Head{Kind: KindInt}
	FloatHead = Head{Kind: KindFloat}
	BoolHead  = Head{Kind: KindBool}
)

// Nil is the value nil, which is also None.
var Nil Slot

// Int makes an Int.
func Int(n int64) Slot { return Slot{uint64(n), unsafe.Pointer(&IntHead)} }

// Float makes a Float.
func Float(f float64) Slot { return Slot{math.Float64bits(f), unsafe.Pointer(&FloatHead)} }

// Bool makes a Bool.
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

// IsNil reports whether s is nil, or None.
func (s Slot) IsNil() bool { return s.Ref == nil }

// AsInt returns the Int in s, which must hold one.
func (s Slot) AsInt() int64 { return int64(s.Bits) }

// AsFloat returns the Float in s, which must hold one.
func (s Slot) AsFloat() float64 { return math.Float64frombits(s.Bits) }

// AsBool returns the Bool in s, which must hold one.
func (s Slot) AsBool() bool { return s.Bits != 0 }

// Number returns an Int or a Float as float64; ok is false for anything else.
func (s Slot) Number() (f float64, ok bool) {
	switch s.Kind() {
	case KindInt:
		return float64(s.AsInt()), true
	case KindFloat:
		return s.AsFloat(), true
	}
	return 0, false
}

// TypeName returns the name of the value's type as typeof prints it: "Int", "Array", a struct's own
// name, …
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

// kindStrs holds the kinds' names as complete Strings, which runs may share.
var kindStrs [len(kindNames)]*Str

func init() {
	for k, name := range kindNames {
		kindStrs[k] = completeStr(name)
	}
}

// TypeNameOf returns TypeName as a String. The Strings of kinds are preallocated, so that a match
// on typeof does not allocate: the workload json takes 0.95 of its time.
func TypeNameOf(s Slot) Slot {
	switch k := s.Kind(); k {
	case KindStruct, KindEnum, KindHandle:
		return String(TypeName(s))
	default:
		return Slot{0, unsafe.Pointer(kindStrs[k])}
	}
}
