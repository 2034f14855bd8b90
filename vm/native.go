package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Native is a library function in Go. It runs no code of the program, and accesses only its
// arguments and the data of the run that library.go exposes. A *value.Error is raised as that
// error, a *value.Fault as a RuntimeError, and any other error as a RuntimeError with its text.
// Arguments are borrowed: a native must mark those that its result contains with value.Share. The
// receiver of a mutating native is already owned. A native that performs an effect returns the
// result of Args.Ask.
type Native func(*Args) (value.Slot, error)

// Args contains the arguments of a native, all with the class Full. It is valid only during the
// call. An accessor raises a fault if the argument has another kind.
type Args struct {
	base unsafe.Pointer // address of argument 0
	n    int
	name string
	vm   *VM         // nil outside of a run
	pace *value.Pace // the pace of the VM, or that of the caller outside of a run

	asked nativeRequest
}

// Pace returns the pace. A native that visits many elements or much text must report its steps to
// the pace. The pace then detects the end of the run or of a timeout, and interrupts the native by
// a panic. The native must report its steps before it changes the receiver.
func (a *Args) Pace() *value.Pace { return a.pace }

// At returns character i of a text. ok is false if i is out of range.
func (a *Args) At(x *value.Str, i int64) (c value.Slot, ok bool) {
	return a.offsets().At(x, i, a.pace)
}

// Cut returns the characters of a text from lo to hi (exclusive). ok is false if lo or hi is out of
// range.
func (a *Args) Cut(x *value.Str, lo, hi int64) (s value.Slot, ok bool) {
	return a.offsets().Slice(x, lo, hi, a.pace)
}

func (a *Args) offsets() *value.Offsets {
	if a.vm == nil {
		return nil
	}
	return a.vm.texts.characters()
}

// Step reports that the native has visited n elements.
func (a *Args) Step(n int) { a.pace.Step(n) }

// Room raises a fault unless n more bytes are within [limits] max_memory_mb. A native calls it
// before it allocates much more memory than its arguments use. n must not exceed the number of
// bytes that the native then allocates.
func (a *Args) Room(n int) {
	if a.vm != nil && !a.vm.memory.fits(n) {
		panic(a.vm.memory.exceeded())
	}
}

// TextBound returns the limit for the length of a text.
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

// WrongKind raises a fault because argument i does not have the kind want.
func (a *Args) WrongKind(i int, want string) {
	panic(value.Faultf("%s: expected %s, got %s", a.name, want, value.TypeName(*a.slot(i))))
}

// Slot returns argument i.
func (a *Args) Slot(i int) value.Slot { return *a.slot(i) }

// Set replaces argument i. A native changes its receiver in the receiver's memory: the caller does
// not store the receiver again.
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

// Invoke calls f outside of a run. window contains the arguments. Like all values with the class
// Full, they contain their kind. A mutating native stores its results in window. If an accessor of
// Args panics with a *value.Fault, Invoke returns it as the error.
func (f Native) Invoke(name string, window []value.Slot) (result value.Slot, err error) {
	return f.InvokeIn(nil, name, window)
}

// InvokeIn calls f outside of a run, like Invoke, with a pace.
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

// Texts returns the texts of the Array in argument i of a native.
func Texts(a *Args, i int) []string {
	all := a.Array(i)
	a.Step(all.Len)
	var out []string
	for j := range all.Len {
		out = append(out, value.Text(all.At(j)))
	}
	return out
}
