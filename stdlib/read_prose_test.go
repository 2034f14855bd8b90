package stdlib

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// TestReadProse checks that a choice, a number or a Bool can be read from a sentence, from
// Markdown, or from an object with one member, if the text names exactly one value.
func TestReadProse(t *testing.T) {
	level := &value.Type{Kind: value.TypeUnion, Values: []string{"easy", "hard", "very easy", "needs-work"}}
	verdict := &value.Type{Kind: value.TypeEnum, Name: "Verdict", Variants: []value.Variant{{Name: "Keep"}, {Name: "Drop"}}}
	whole, real, boolean := &value.Type{Kind: value.TypeInt}, &value.Type{Kind: value.TypeFloat}, &value.Type{Kind: value.TypeBool}
	for _, c := range []struct {
		t          *value.Type
		text, want string
	}{
		{level, "Easy.", `"easy"`},
		{level, "**easy**", `"easy"`},
		{level, "_easy_", `"easy"`},
		{level, "`easy`", `"easy"`},
		{level, "```\neasy\n```", `"easy"`},
		{level, "The answer is: easy", `"easy"`},
		{level, "# Answer\n\n- **Hard**\n", `"hard"`},
		{level, "It is very easy, really.", `"very easy"`},
		{level, "Needs-Work!", `"needs-work"`},
		{level, `{"answer":"easy"}`, `"easy"`},
		{level, "```json\n{\"answer\": \"Easy\"}\n```", `"easy"`},
		{level, "easy, I would say: easy", `"easy"`},
		{level, "Easy or hard?", ""},
		{level, "This is not easy.", ""},
		{level, "It isn't easy", ""},
		{level, "uneasy", ""},
		{level, "easygoing", ""},
		{level, `{"first":"easy","second":1}`, ""},
		{level, `["easy"]`, ""},
		{level, "", ""},
		{verdict, "I would say **Keep** it.", `"Keep"`},
		{verdict, "Keep or Drop", ""},
		{whole, "The answer is 42.", "42"},
		{whole, "-7 degrees", "-7"},
		{whole, `{"value": 3}`, "3"},
		{whole, "**42**", "42"},
		{whole, "between 3 and 4", ""},
		{whole, "42%", ""},
		{whole, "1,000", ""},
		{whole, "on 2026-11-22", ""},
		{whole, "It is 3.5", ""},
		{whole, "x86 has it", ""},
		{real, "about 0.75, I think", "0.75"},
		{real, "The score is 3", "3.0"},
		{boolean, "Yes, of course.", "true"},
		{boolean, "**No**", "false"},
		{boolean, "The statement is true.", "true"},
		{boolean, "Not true", ""},
		{boolean, "Yes and no.", ""},
		{boolean, "nobody knows", ""},
		{boolean, `{"answer": true}`, "true"},
		{boolean, `{"failed": true}`, ""},
	} {
		v, repairs, wrong := readText(new(vm.Args), c.text, c.t)
		if c.want == "" {
			if wrong == "" {
				t.Errorf("readText(%q) = %s, want an error", c.text, value.AppendJSON(nil, v))
			}
			continue
		}
		if got := string(value.AppendJSON(nil, v)); wrong != "" || got != c.want {
			t.Errorf("readText(%q) = %s, error %s, want %s", c.text, got, wrong, c.want)
		}
		if len(repairs) == 0 {
			t.Errorf("readText(%q) lists no repair", c.text)
		}
	}
	_, _, wrong := readText(new(vm.Args), "Perhaps later", level)
	for _, part := range []string{`"easy" | "hard"`, `"Perhaps later"`} {
		if !strings.Contains(wrong, part) {
			t.Errorf("the error %q does not contain %s", wrong, part)
		}
	}
}
