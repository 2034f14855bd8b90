package host

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// ordered lists the locks that a goroutine may hold while it acquires another.
var ordered = []reflect.Type{
	reflect.TypeFor[hostsLock](), reflect.TypeFor[turnsLock](), reflect.TypeFor[poolLock](), reflect.TypeFor[exchangeLock](),
	reflect.TypeFor[lifecycleLock](), reflect.TypeFor[translationLock](), reflect.TypeFor[workDirsLock](),
}

// lockOrder checks the order in which goroutines acquire locks.
type lockOrder struct {
	mu   sync.Mutex
	held map[string][]reflect.Type // by goroutine
	fail func(text string)
}

// watch notes that the current goroutine acquires or releases a lock.
func (o *lockOrder) watch(name reflect.Type, acquires bool) {
	var buffer [64]byte
	goroutine := strings.Fields(string(buffer[:runtime.Stack(buffer[:], false)]))[1]
	o.mu.Lock()
	defer o.mu.Unlock()
	held := o.held[goroutine]
	if !acquires {
		if i := slices.Index(held, name); i >= 0 {
			held = slices.Delete(held, i, i+1)
		}
		if o.held[goroutine] = held; len(held) == 0 {
			delete(o.held, goroutine)
		}
		return
	}
	for _, h := range held {
		if at := slices.Index(ordered, h); at < 0 || slices.Contains(ordered[:at+1], name) {
			o.fail(fmt.Sprintf("a goroutine acquires %s while it holds %s", name.Name(), h.Name()))
		}
	}
	o.held[goroutine] = append(held, name)
}

// All tests of the package check the order of its locks. A wrong order ends the process with the
// stack of the goroutine.
func init() {
	watchLocks = (&lockOrder{held: map[string][]reflect.Type{}, fail: func(text string) { panic(text) }}).watch
}

// TestLockOrder checks that the tests notice a wrong order.
func TestLockOrder(t *testing.T) {
	for _, c := range []struct {
		first, second reflect.Type
		fails         bool
	}{
		{reflect.TypeFor[hostsLock](), reflect.TypeFor[poolLock](), false},
		{reflect.TypeFor[turnsLock](), reflect.TypeFor[inboxLock](), false},
		{reflect.TypeFor[poolLock](), reflect.TypeFor[hostsLock](), true},
		{reflect.TypeFor[poolLock](), reflect.TypeFor[poolLock](), true},
		{reflect.TypeFor[inboxLock](), reflect.TypeFor[outboxLock](), true},
		{reflect.TypeFor[inboxLock](), reflect.TypeFor[turnsLock](), true},
	} {
		failed := ""
		o := &lockOrder{held: map[string][]reflect.Type{}, fail: func(text string) { failed = text }}
		o.watch(c.first, true)
		o.watch(c.second, true)
		if (failed != "") != c.fails {
			t.Errorf("%s, then %s: failure = %q, want one: %t", c.first.Name(), c.second.Name(), failed, c.fails)
		}
		o.watch(c.second, false)
		o.watch(c.first, false)
		failed = ""
		if o.watch(c.second, true); failed != "" {
			t.Errorf("%s, after all locks were released: %s", c.second.Name(), failed)
		}
	}
}
