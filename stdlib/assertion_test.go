package stdlib

import "testing"

func TestAssertionDiff(t *testing.T) {
	for message, want := range map[string]string{
		"assertion failed: 1 does not equal 2":                                   "- 1\n+ 2",
		"assertion failed: the sum: it: 1 does not equal 2":                      "- 1\n+ 2",
		"assertion failed: [1] does not equal [2]\n  at [0]: 1 does not equal 2": "- [1]\n+ [2]\n  at [0]: 1 does not equal 2",
		`assertion failed: ToolError "no" does not equal null`:                   "- ToolError \"no\"\n+ null",
		`assertion failed: "a: b" does not equal "c"`:                            "- \"a: b\"\n+ \"c\"",
		"assertion failed: no":                                                   "",
		"assertion failed":                                                       "",
		"1 does not equal 2":                                                     "",
	} {
		if got := AssertionDiff(message); got != want {
			t.Errorf("AssertionDiff(%q) = %q, want %q", message, got, want)
		}
	}
}
