package foreign

import (
	"strings"
	"testing"
)

// TestTable checks that each row of the table has a hint, and that no name occurs twice for the
// same position.
func TestTable(t *testing.T) {
	seen := map[key]bool{}
	for _, r := range table {
		if r.word().HintText() == "" {
			t.Errorf("%q has no hint", r.names)
		}
		for name := range strings.FieldsSeq(r.names) {
			k := key{r.place, r.on, name}
			if seen[k] {
				t.Errorf("the table contains %q twice for the same position", name)
			}
			seen[k] = true
			if r.place == Member && name != Plain(name) {
				t.Errorf("member %q must be in the form that Plain returns, %q", name, Plain(name))
			}
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Value.Hint("null"), "did you mean `nil`?"},
		{Value.Hint("nil"), ""},
		{Start.Hint("var"), "write `let`, or `let mut` to change it later"},
		{FindMember("Result", "mapLeft").HintText(), "did you mean `map_err`?"},
		{FindMember("String", "push").Hint, "join text with `+`, `+=` or `\"${a}${b}\"`"},
		{FindMember("Array", "PUSH_BACK").Ours[0], "push"},
		{Type.Hint("i32"), "did you mean `Int`?"},
	} {
		if c.got != c.want {
			t.Errorf("hint = %q, want %q", c.got, c.want)
		}
	}
}
