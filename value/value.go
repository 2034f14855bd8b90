// Package value holds what programs compute with: slots, the objects they
// refer to, copy-on-write, equality, order, JSON and text. It is a leaf; it
// performs no effect and knows no type checker.
//
// Invariants. Every slot in the heap is self-describing: nil is {0, nil}, a
// scalar's ref is the address of a static head, anything else's ref is its
// object's first word. Only VM registers may hold stale refs. Whatever
// dereferences a ref checks the head first.
package value

import "unsafe"

// Slot is one value. bits holds a scalar, ref says what the value is.
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
	KindStruct   // structs, schema values and errors; Head.Type tells which
	KindEnum     // variants of enums, Result among them; Head.Sub is the variant
	KindSome     // the box of a Some whose payload is nil or a Some
	KindRange    // slots: lo, hi (exclusive), both Int
	KindClosure  // slots: captures; the function stands beside them
	KindCell     // one slot, shared by closures
	KindAgent    // slots: see package vm
	KindHost     // slots: see package vm
	KindTool     // slots: see package vm
	KindHandle   // tasks, stores, pipelines: an id into a table of the VM
	KindTypeDesc // a run-time type as a value, for library code
)

// Head is the first word of every object.
type Head struct {
	Kind  Kind
	Flags uint8  // FlagShared
	Sub   uint16 // array representation, enum variant
	N     uint32 // number of slots that field operations may reach; else 0
}

// FlagShared says that two places may hold the object. It is never cleared;
// a copy does not have it.
const FlagShared = 1
