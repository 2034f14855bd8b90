package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Invoke calls f outside a run, as CallNative does. window holds the arguments,
// which are Full, that is self-describing, and receives what a mutating native
// sets. A *value.Fault that an accessor of Args panics with is returned as the
// error.
func (f Native) Invoke(name string, window []value.Slot) (result value.Slot, err error) {
	return f.InvokeIn(nil, name, window)
}

// InvokeIn is Invoke under a pace.
func (f Native) InvokeIn(pace *value.Pace, name string, window []value.Slot) (result value.Slot, err error) {
	return f.invoke(&Args{name: name, pace: pace}, window)
}

// Invoke calls a native as one that knows this run, which is not under way.
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
