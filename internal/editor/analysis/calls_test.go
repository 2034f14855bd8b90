package analysis

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestCalls checks the callers and the callees of functions.
func TestCalls(t *testing.T) {
	m := loadMarked(t, `
-- main.conc --
mod part;
struct P { x: Int }
impl P { fn /*a1*/get(self) -> Int { part::one() + part::one() } }
fn main() {
    let p = P { x: 1 };
    emit("x", p.get());
    emit("y", [part::one()].map(|n| n + p.get()));
}
-- part.conc --
pub fn /*b1*/one() -> Int { 1 }
`)
	s, ctx := m.ws.Snapshot(), context.Background()
	show := func(cs []Calls) string {
		var parts []string
		for _, c := range cs {
			parts = append(parts, fmt.Sprintf("%s %d×%d", c.Function.Name, c.Function.Kind, len(c.At)))
		}
		return strings.Join(parts, ", ")
	}
	for mark, want := range map[string]string{"a1": "main 0×2 | one 0×2", "b1": "get 1×2, main 0×1 | "} {
		p, pos := m.path[mark], m.pos[mark]
		if got := show(s.Incoming(ctx, p, pos)) + " | " + show(s.Outgoing(ctx, p, pos)); got != want {
			t.Errorf("calls at mark %s: got %s, want %s", mark, got, want)
		}
	}
	if s.FunctionAt(ctx, m.path["a1"], 0) != nil || s.Incoming(ctx, m.path["a1"], 0) == nil {
		t.Error("FunctionAt a position without a function: got a function, want nil; Incoming must return a non-nil list")
	}
}
