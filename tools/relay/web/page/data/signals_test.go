package data_test

import (
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// signalCases are JavaScript programs that use signals. Each calls seen with the values that its
// effects read; want lists these values in order.
var signalCases = []struct{ name, js, want string }{
	{"an effect runs again when what it read changes", `const a = signal(1); effect(() => seen(a.value)); a.value = 2; a.value = 2; a.value = 3;`, `[1,2,3]`},
	{"an ended effect does not", `const a = signal(1); const end = effect(() => seen(a.value)); end(); a.value = 2;`, `[1]`},
	{"an effect that ends in a batch does not", `const a = signal(1); const end = effect(() => seen(a.value)); batch(() => { a.value = 2; end(); });`, `[1]`},
	{"a batch is one change", `const a = signal(1), b = signal(2); effect(() => seen(a.value + b.value)); batch(() => { a.value = 10; batch(() => { b.value = 20; }); seen("in"); });`, `[3,"in",30]`},
	{"a batch that changes nothing in the end is none", `const a = signal(1), c = computed(() => a.value); effect(() => seen(c.value)); batch(() => { a.value = 2; a.value = 1; });`, `[1]`},
	{"a computed is computed when it is read, once", `const a = signal(1), c = computed(() => (seen("computes"), a.value + 1)); seen("made"); c.value; c.value; seen(c.value); a.value = 2; seen(c.peek());`, `["made","computes",2,"computes",3]`},
	{"a computed that stays the same tells nobody", `const a = signal(1), odd = computed(() => a.value % 2); effect(() => seen(odd.value)); a.value = 3; a.value = 4;`, `[1,0]`},
	{"a diamond is seen whole", `const a = signal(1), b = computed(() => a.value * 2), c = computed(() => a.value * 3); effect(() => seen(b.value + c.value)); a.value = 2;`, `[5,10]`},
	{"what is read no more is no source", `const on = signal(true), a = signal(1); effect(() => seen(on.value ? a.value : "off")); on.value = false; a.value = 2; on.value = true; a.value = 3;`, `[1,"off",2,3]`},
	{"so it is of a computed", `const on = signal(true), a = signal(1), c = computed(() => (on.value ? a.value : "off")); effect(() => seen(c.value)); on.value = false; a.value = 2; on.value = true; a.value = 3;`, `[1,"off",2,3]`},
	{"peek is no source", `const a = signal(1); effect(() => seen(a.peek())); a.value = 2;`, `[1]`},
	{"a computed whose readers are gone is still right", `const a = signal(1), c = computed(() => a.value + 1); effect(() => seen(c.value))(); a.value = 2; seen(c.value); effect(() => seen(c.value)); a.value = 3;`, `[2,3,3,4]`},
	{"and its sources know nothing of it", `const a = signal(1), c = computed(() => a.value), d = computed(() => c.value); const end = effect(() => d.value); seen(a.readers.size); end(); seen(a.readers.size + c.readers.size);`, `[1,0]`},
	{"an error is the reader's, and no state", `const a = signal(1), c = computed(() => { if (a.value === 2) throw "two"; return a.value; }); effect(() => { try { seen(c.value); } catch (e) { seen(e); } }); a.value = 2; a.value = 3;`, `[1,"two",3]`},
	{"an effect may change signals", `const a = signal(1), b = signal(0); effect(() => { b.value = a.value * 2; }); effect(() => seen(b.value)); a.value = 5;`, `[2,10]`},
	{"effects in effects have sources of their own", `const a = signal(1), b = signal(1); effect(() => { seen("outer" + a.value); if (a.peek() === 1) effect(() => seen("inner" + b.value)); }); b.value = 2; a.value = 2;`, `["outer1","inner1","inner2","outer2"]`},
}

// TestSignals checks which effects run after a signal changes: only those that have read the
// signal, and once for all changes that are made together.
func TestSignals(t *testing.T) {
	r := start(t)
	b := r.tab("")
	for _, c := range signalCases {
		t.Run(c.name, func(t *testing.T) {
			same(t, b, "(() => { const all = [], seen = (x) => { all.push(x); }; "+c.js+" return all; })()", c.want)
		})
	}
	t.Run("one effect that fails keeps no other from running", func(t *testing.T) { failing(t, b) })
}

func failing(t *testing.T, b *browser.Tab) {
	b.Expect("it fails")
	same(t, b, `(() => { const all = [], a = signal(1); effect(() => { if (a.value > 1) throw new Error("it fails"); }); effect(() => all.push(a.value)); a.value = 2; a.value = 3; return all; })()`, `[1,2,3]`)
}
