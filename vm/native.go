package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Native is a library function in Go. It is a leaf: it runs no code of the program, and accesses
// only its arguments and the data of the run that library.go exposes. A *value.Error is raised as
// that error, a *value.Fault as a RuntimeError, any other error as a RuntimeError with its text.
// Arguments are borrowed: a native marks with value.Share those that its result contains. The
// receiver of a mutating native is owned already. A native whose result is that of an effect
// returns the result of Args.Ask.
type Native func(*Args) (value.Slot, error)

// Args is the window of a native's arguments, all Full. It is valid only during the call. An
// accessor for another kind of value faults.
type Args struct {
	base unsafe.Pointer // of argument 0
	n    int
	name string
	vm   *VM         // nil outside a run
	pace *value.Pace // the VM's, or one of the caller outside a run

	asked    nativeRequest
	repeated bool // the native has made its request before: only its ResultFunc is needed
}

// Pace returns the pace. A native that visits many elements or much text must report its steps to
// it. The pace then detects the end of the run or of a timeout, and interrupts the native by a
// panic. Steps must be reported before the receiver changes.
func (a *Args) Pace() *value.Pace { return a.pace }

// At returns character i of a text; ok is false out of range.
func (a *Args) At(x *value.Str, i int64) (c value.Slot, ok bool) {
	return a.offsets().At(x, i, a.pace)
}

// Cut returns the characters of a text from lo to hi (exclusive); ok is false out of range.
func (a *Args) Cut(x *value.Str, lo, hi int64) (s value.Slot, ok bool) {
	return a.offsets().Slice(x, lo, hi, a.pace)
}

func (a *Args) offsets() *value.Offsets {
	if a.vm == nil {
		return nil
	}
	return a.vm.texts.characters()
}

// Step reports n elements to the pace.
func (a *Args) Step(n int) { a.pace.Step(n) }

// Room faults unless n more bytes are within [limits] max_memory_mb. Natives call it before they
// allocate much more memory than their arguments have. n must not exceed the memory that they then
// allocate.
func (a *Args) Room(n int) {
	if a.vm != nil && !a.vm.memory.fits(n) {
		panic(a.vm.memory.exceeded())
	}
}

// TextBound returns the bound on the length of a text.
func (a *Args) TextBound() *value.Bound {
	if a.vm == nil || a.pace != &a.vm.pace {
		return &value.Bound{Pace: a.pace}
	}
	return &a.vm.memory.text
}

// Len returns the number of arguments.
func (a *Args) Len() int { return a.n }

func (a *Args) slot(i int) *value.Slot {
	if uint(i) >= uint(a.n) {
		panic(value.Faultf("%s: argument %d is missing", a.name, i+1))
	}
	return (*value.Slot)(unsafe.Add(a.base, uintptr(i)*value.SlotSize))
}

// WrongKind faults because argument i is not of the kind want.
func (a *Args) WrongKind(i int, want string) {
	panic(value.Faultf("%s: expected %s, got %s", a.name, want, value.TypeName(*a.slot(i))))
}

// Slot returns argument i.
func (a *Args) Slot(i int) value.Slot { return *a.slot(i) }

// Set replaces argument i. Set(0, …) returns a mutated receiver; a receiver that was changed in
// place need not be set.
func (a *Args) Set(i int, s value.Slot) { *a.slot(i) = s }

// Int returns argument i, an Int.
func (a *Args) Int(i int) int64 {
	s := a.slot(i)
	if s.Kind() != value.KindInt {
		a.WrongKind(i, "an Int")
	}
	return s.AsInt()
}

// Float returns argument i, a Float or an Int.
func (a *Args) Float(i int) float64 {
	f, ok := a.slot(i).Number()
	if !ok {
		a.WrongKind(i, "a Float")
	}
	return f
}

// Bool returns argument i, a Bool.
func (a *Args) Bool(i int) bool {
	s := a.slot(i)
	if s.Kind() != value.KindBool {
		a.WrongKind(i, "a Bool")
	}
	return s.AsBool()
}

// String returns the text of argument i, a String.
func (a *Args) String(i int) string { return a.Str(i).S }

// Str returns the string object of argument i, a String, for work on code points.
func (a *Args) Str(i int) *value.Str {
	x := a.slot(i).Str()
	if x == nil {
		a.WrongKind(i, "a String")
	}
	return x
}

// Array returns argument i, an Array.
func (a *Args) Array(i int) *value.Array {
	x := a.slot(i).Array()
	if x == nil {
		a.WrongKind(i, "an Array")
	}
	return x
}

// Map returns argument i, a Map.
func (a *Args) Map(i int) *value.Map {
	x := a.slot(i).Map()
	if x == nil {
		a.WrongKind(i, "a Map")
	}
	return x
}

// Type returns the type that argument i represents.
func (a *Args) Type(i int) *value.Type {
	t := a.slot(i).TypeDesc()
	if t == nil {
		a.WrongKind(i, "a type")
	}
	return t
}

// Invoke calls f outside a run, as CallNative does. window contains the arguments, which are Full,
// that is self-describing, and receives the values that a mutating native sets. A *value.Fault with
// which an accessor of Args panics is returned as the error.
func (f Native) Invoke(name string, window []value.Slot) (result value.Slot, err error) {
	return f.InvokeIn(nil, name, window)
}

// InvokeIn is Invoke under a pace.
func (f Native) InvokeIn(pace *value.Pace, name string, window []value.Slot) (result value.Slot, err error) {
	return f.invoke(&Args{name: name, pace: pace}, window)
}

// Invoke calls a native with access to this run, which must not be executing.
func (m *VM) Invoke(f Native, pace *value.Pace, name string, window []value.Slot) (result value.Slot, err error) {
	return f.invoke(&Args{vm: m, name: name, pace: pace}, window)
}

func (f Native) invoke(a *Args, window []value.Slot) (result value.Slot, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *value.Fault:
			result, err = value.Nil, p
		default:
			panic(p)
		}
	}()
	a.base, a.n = unsafe.Pointer(unsafe.SliceData(window)), len(window)
	return f(a)
}
