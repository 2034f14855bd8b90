package stdlib_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/stdlib"
)

// receivers contains receivers of methods, by the name of the type.
var receivers = map[string]string{
	"Int": "1", "Float": "1.5", "Bool": "true", "String": `"s"`, "Array": "[1, 2]", "Map": `{ a: 1 }`, "Option": "Some(1)",
	"Result": `"1".parse_int()`, "Range": "(0..3)", "Tuple": "(1, 2)", "Error": `RuntimeError::new("m")`, "Agent": "A", "Host": "H",
	"HashMap": "h", "Ledger": "l", "Memory": "m", "Task": "soon()", "LedgerQuery": "l.query()", "Set": "Set::from([1])",
	"Queue": "Queue::new()", "Stack": "Stack::new()", "PriorityQueue": "PriorityQueue::new(|a: Int, b: Int| a - b)",
	"Match": `(regex::find("a", "a") ?? panic("none"))`, "HttpResponse": `(http::get("x")?)`,
}

// arguments contains argument lists that fit few functions or none.
var arguments = []string{
	"", "nil", "1", `"("`, `"(", "["`, "[1], 2", "|x| x", "|a, b| nope", "absent: 1", `1, absent: "x"`, "1, 2, 3, 4, 5, 6, 7, 8, 9",
	"nope", "main", "Int", "A, H", "return", "soon()", "h, l, m", "panic", "Some(nil)", "{}", "[]",
}

// TestWrongCallsAreReportedOrValid checks calls of the library with wrong arguments. For each call
// the compiler must report an error or generate code that the verifier accepts.
func TestWrongCallsAreReportedOrValid(t *testing.T) {
	calls := 0
	for _, p := range stdlib.Pages() {
		for _, s := range p.Sections {
			for _, e := range s.Entries {
				callee, ok := called(e.Name)
				if !ok {
					continue
				}
				calls++
				for _, args := range arguments {
					tryCompiling(t, callee+"("+args+")")
				}
				tryCompiling(t, "1 |> "+callee)
				tryCompiling(t, "1 |> "+callee+"(nil)")
				tryCompiling(t, "let f = "+callee)
			}
		}
	}
	if calls < 400 {
		t.Errorf("called only %d functions, want at least 400", calls)
	}
}

// called returns the text of a call of the entry with this name. The bool reports whether the entry
// can be called.
func called(name string) (string, bool) {
	typ, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		return name, name == strings.ToLower(name) || strings.Contains(name, "::")
	}
	if recv, ok := receivers[typ]; ok {
		return recv + "." + method, true
	}
	return typ + "::" + method, true
}

func tryCompiling(t *testing.T, stmt string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("compiling %s panicked: %v\n%s", stmt, p, debug.Stack())
		}
	}()
	var uses strings.Builder
	for _, m := range stdlib.Library().Modules() {
		if strings.Contains(stmt, m+"::") {
			fmt.Fprintf(&uses, "use std::%s;\n", m)
		}
	}
	text := uses.String() + `use std::collections::{Set, Queue, Stack, PriorityQueue};
agent A { provider: scripted }
host H { connector: worker }
hashmap h: HashMap<String, Int> = HashMap::new();
ledger l: Ledger = Ledger::new();
memory m: Memory = Memory::new();
async fn soon() -> Int { 1 }
fn main() { ` + stmt + "; }\n"
	code, _ := compiletest.Source(text)
	if code == nil {
		return
	}
	if err := ir.Verify(code); err != nil {
		t.Errorf("compiling %s generated code that Verify rejects: %v", stmt, err)
	}
}
