package vm

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// StateCodec encodes or decodes the state of a VM. A function with a StateCodec lists the parts of
// an object once, for both directions. The target of a pointer is an entity. Each entity is encoded
// once, with a number in the order in which the encoder first reaches it. The decoder creates all
// entities before it decodes their contents, so that entities may form cycles.
//
// The body consists of the heads of the entities, from which they are created, followed by the
// roots and the contents of the entities.
type StateCodec struct {
	m    *VM // the VM whose state is encoded or decoded
	at   *positionMap
	self *VM // the VM to which decoded tasks belong

	format  int // format of the snapshot
	reading bool
	in      []byte // remaining input
	out     []byte
	err     error // the first error

	entities []entity
	ids      map[unsafe.Pointer]uint64 // encoding only: number of an entity
	types    map[*value.Type]int
	stores   map[unsafe.Pointer]storePath // encoding only: declaration of a store
	later    []func()                     // functions to call after everything has been decoded
	restored []*pendingRequest            // decoding only: pending requests
	scratch  []byte                       // encoding only: buffer for the text of a request
	stack    []frame                      // encoding only: buffer for the frames of a task
}

// entity is the target of pointers.
type entity struct {
	kind entityKind
	p    unsafe.Pointer
}

type entityKind uint8

const (
	entityNone entityKind = iota
	entityString
	entityArray
	entityMap
	entityBlock // tuples, structs, enum values, Somes, ranges, cells, agents, hosts
	entityClosure
	entityHandle // handles, except those of tasks and stores
	entityHashMap
	entityLedger
	entityTask
	entityGroup
	entityRaised
	entityScope
	entityRun
	entityStream
	entityAsk
	entityDecision
	entityKinds
)

// NoSnapshotError reports that a snapshot is not possible: the run contains a value that a snapshot
// cannot contain, or the run is not at a boundary.
type NoSnapshotError struct{ What string }

func (e *NoSnapshotError) Error() string { return "no snapshot is possible: " + e.What }

// DamagedError reports that a snapshot cannot be decoded.
type DamagedError struct{ What string }

func (e *DamagedError) Error() string { return "the snapshot is damaged: " + e.What }

func (k *StateCodec) refuse(format string, args ...any) {
	if k.err == nil {
		k.err = &NoSnapshotError{fmt.Sprintf(format, args...)}
	}
}

// damaged records why the input is invalid. All further reads return zero values.
func (k *StateCodec) damaged(format string, args ...any) {
	if k.err == nil {
		k.err = &DamagedError{fmt.Sprintf(format, args...)}
	}
	k.in = nil
}

// Fail records that the input is invalid.
func (k *StateCodec) Fail(what string) {
	if k.reading {
		k.damaged("%s", what)
	} else {
		k.refuse("%s", what)
	}
}

// require records an error unless ok, a condition on the input, is true. It returns ok.
func (k *StateCodec) require(ok bool, what string) bool {
	if k.reading && !ok {
		k.damaged("%s", what)
	}
	return ok
}

// Reading reports whether a state is being decoded.
func (k *StateCodec) Reading() bool { return k.reading }

func (k *StateCodec) byte() (b byte) {
	if len(k.in) == 0 {
		k.damaged("it ends too early")
		return 0
	}
	b, k.in = k.in[0], k.in[1:]
	return b
}

func (k *StateCodec) readUint() uint64 {
	n, size := binary.Uvarint(k.in)
	if size <= 0 {
		k.damaged("a number is malformed")
		return 0
	}
	k.in = k.in[size:]
	return n
}

func (k *StateCodec) writeUint(n uint64) { k.out = binary.AppendUvarint(k.out, n) }

// uint64 encodes or decodes eight bytes.
func (k *StateCodec) uint64(p *uint64) {
	if !k.reading {
		k.out = binary.LittleEndian.AppendUint64(k.out, *p)
		return
	}
	if len(k.in) < 8 {
		k.damaged("it ends too early")
		return
	}
	*p, k.in = binary.LittleEndian.Uint64(k.in), k.in[8:]
}

// Int encodes or decodes an integer.
func (k *StateCodec) Int(p *int64) {
	if !k.reading {
		k.out = binary.AppendVarint(k.out, *p)
		return
	}
	n := k.readUint()
	*p = int64(n>>1) ^ -int64(n&1)
}

// number encodes or decodes an integer of any type.
func number[T ~int | ~int8 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](k *StateCodec, p *T) {
	n := int64(*p)
	k.Int(&n)
	if *p = T(n); int64(*p) != n {
		k.damaged("the number %d is too large", n)
		*p = 0
	}
}

// below encodes or decodes an integer from 0 to n-1. It returns false, and records an error, if the
// decoded integer is not in that range.
func below[T ~int | ~int32 | ~int64 | ~uint8 | ~uint16](k *StateCodec, p *T, n int, what string) bool {
	number(k, p)
	if k.require(*p >= 0 && int(*p) < n, what) {
		return true
	}
	*p = 0
	return false
}

// Bool encodes or decodes a Bool.
func (k *StateCodec) Bool(p *bool) {
	if !k.reading {
		k.out = append(k.out, byte(bit(*p)))
		return
	}
	b := k.byte()
	k.require(b < 2, "a Bool is malformed")
	*p = b == 1
}

// Count encodes or decodes a number of elements that follow. Each element must take at least one
// byte.
func (k *StateCodec) Count(n int) int {
	if !k.reading {
		k.writeUint(uint64(n))
		return n
	}
	x := k.readUint()
	if x > uint64(len(k.in)) {
		k.damaged("a count exceeds the rest of the input")
		return 0
	}
	return int(x)
}

// list encodes or decodes a list. each encodes or decodes one element.
func list[T any](k *StateCodec, p *[]T, each func(*T)) {
	n := k.Count(len(*p))
	if k.reading {
		*p = nil
		if n > 0 {
			*p = make([]T, 0, min(n, 1024))
		}
		for range n {
			var x T
			each(&x)
			if k.err != nil {
				*p = nil
				return
			}
			*p = append(*p, x)
		}
		return
	}
	for i := range *p {
		each(&(*p)[i])
	}
}

// Text encodes or decodes a text.
func (k *StateCodec) Text(p *string) {
	if !k.reading {
		text := k.hideSecrets(*p)
		k.Count(len(text))
		k.out = append(k.out, text...)
		return
	}
	n := k.Count(0)
	*p = string(k.in[:n])
	k.in = k.in[n:]
	if !utf8.ValidString(*p) {
		k.damaged("a text is not UTF-8")
		*p = ""
	}
	*p = k.revealSecrets(*p)
}

// hideSecrets returns a text with its secrets replaced, as the snapshot stores it.
func (k *StateCodec) hideSecrets(text string) string {
	if t := k.m.config.Texts; t != nil {
		return t.Hide(text)
	}
	return text
}

// revealSecrets returns the original of a text that hideSecrets has changed.
func (k *StateCodec) revealSecrets(text string) string {
	if t := k.m.config.Texts; t != nil {
		return t.Reveal(text)
	}
	return text
}

// bytes encodes or decodes bytes. An empty slice is decoded as nil.
func (k *StateCodec) bytes(p *[]byte) {
	if !k.reading {
		whole := *p
		for n := 0; n < utf8.UTFMax && !utf8.Valid(whole); n++ { // the slice may end in the middle of a character
			whole = whole[:max(len(whole)-1, 0)]
		}
		text := k.hideSecrets(string(whole)) + string((*p)[len(whole):])
		k.Count(len(text))
		k.out = append(k.out, text...)
		return
	}
	n := k.Count(0)
	*p = nil
	if n > 0 {
		*p = []byte(k.revealSecrets(string(k.in[:n])))
	}
	k.in = k.in[n:]
}

// id returns the number of an entity for encoding.
func (k *StateCodec) id(kind entityKind, p unsafe.Pointer) uint64 {
	id, found := k.ids[p]
	if !found {
		id = uint64(len(k.entities))
		k.ids[p] = id
		k.entities = append(k.entities, entity{kind, p})
	}
	return id
}

// entity returns the entity with number n, which must have the given kind.
func (k *StateCodec) entity(kind entityKind, n uint64) unsafe.Pointer {
	if n >= uint64(len(k.entities)) || k.entities[n].kind != kind {
		k.damaged("something refers to what is not there")
		return nil
	}
	return k.entities[n].p
}

// refer encodes or decodes a pointer to an entity, or nil.
func refer[T any](k *StateCodec, kind entityKind, p **T) {
	if !k.reading {
		if *p == nil {
			k.writeUint(0)
		} else {
			k.writeUint(1 + k.id(kind, unsafe.Pointer(*p)))
		}
		return
	}
	*p = nil
	if n := k.readUint(); n > 0 {
		*p = (*T)(k.entity(kind, n-1))
	}
}

// referRequired encodes or decodes a pointer that must not be nil.
func referRequired[T any](k *StateCodec, kind entityKind, p **T, what string) {
	refer(k, kind, p)
	k.require(*p != nil, what)
}

// typ encodes or decodes a type: a type of the program, a built-in type, or nil.
func (k *StateCodec) typ(p **value.Type) {
	if !k.reading {
		n, found := k.typeNumbers()[*p]
		if !found {
			k.refuse("a value has the type %s, which is none of the program's", *p)
		}
		k.writeUint(uint64(n))
		return
	}
	n := int(min(k.readUint(), math.MaxInt32))
	switch built := builtTypes(k.format); {
	case n == 0:
		*p = nil
	case n == 1:
		*p = value.ResultType
	case n < built:
		*p = value.ErrorTypes[n-2]
	case n-built < len(k.m.image.types):
		*p = k.m.image.types[n-built]
	default:
		k.damaged("there is no type %d", n)
	}
}

// builtTypes returns the number of the first type of the program: the numbers before it belong to
// built-in types.
func builtTypes(format int) int {
	if format < 5 {
		return 2 + 15 // before GitError
	}
	return 2 + len(value.ErrorTypes)
}

func (k *StateCodec) typeNumbers() map[*value.Type]int {
	if k.types != nil {
		return k.types
	}
	k.types = map[*value.Type]int{}
	built := builtTypes(k.format)
	for i := len(k.m.image.types) - 1; i >= 0; i-- { // of equal types, the map refers to the first
		k.types[k.m.image.types[i]] = built + i
	}
	for i, t := range value.ErrorTypes {
		k.types[t] = 2 + i
	}
	k.types[nil], k.types[value.ResultType] = 0, 1
	return k.types
}
