package stdlib

import "testing"

func TestFmt(t *testing.T) {
	run(t, []call{
		{"fmt.format", `["Hello, {}! You have {} messages.", ["Alice", 5]]`, `"Hello, Alice! You have 5 messages."`, ""},
		{"fmt.format", `["{1} {0} {} {1} {}", ["a", 2.0]]`, `"2.0 a a 2.0 2.0"`, ""},
		{"fmt.format", `["{{}} {{{}}} {x} {-1} } { {12", [null]]`, `"{} {nil} {x} {-1} } { {12"`, ""},
		{"fmt.format", `["", []]`, `""`, ""},
		{"fmt.format", `["é{}é", [[1]]]`, `"é[1]é"`, ""},
		{"fmt.format", `["{} {}", [1]]`, `fault: format: {} refers to argument 1, but there are 1`, ""},
		{"fmt.format", `["{7}", []]`, `fault: format: {7} refers to argument 7, but there are 0`, ""},
		{"fmt.format", `["{99999999999999999999}", []]`, `"{99999999999999999999}"`, ""},
		{"fmt.truncate", `["a long text", 7, "…"]`, `"a long…"`, ""},
		{"fmt.truncate", `["日本語", 2, ""]`, `"日本"`, ""},
		{"fmt.truncate", `["short", 5, "..."]`, `"short"`, ""},
		{"fmt.truncate", `["short", 9223372036854775807, "..."]`, `"short"`, ""},
		{"fmt.truncate", `["short", 2, "..."]`, `".."`, ""},
		{"fmt.truncate", `["short", 0, "..."]`, `""`, ""},
		{"fmt.truncate", `["", 0, "..."]`, `""`, ""},
		{"fmt.truncate", `["short", -1, ""]`, `fault: truncate: the count -1 is negative`, ""},
		{"fmt.indent", `["a\nb", 2]`, `"  a\n  b"`, ""},
		{"fmt.indent", `["a\n\n\r\n b\n", 2]`, `"  a\n\n\r\n   b\n"`, ""},
		{"fmt.indent", `["", 2]`, `""`, ""},
		{"fmt.indent", `["a", 0]`, `"a"`, ""},
		{"fmt.indent", `["a", -1]`, `fault: indent: the count -1 is negative`, ""},
		{"fmt.indent", `["a\nb", 9223372036854775807]`, `fault: indent: the result would be longer than 1 GiB`, ""},
		{"fmt.table", `[[["ann", 5, "x"], ["bo\nb", 10.5], []], ["name", "n"]]`, `"name     n\n----  ----  -\nann      5  x\nbo b  10.5\n"`, ""},
		{"fmt.table", `[[["é", 1], ["ab", "c"]], []]`, `"é   1\nab  c"`, ""},
		{"fmt.table", `[[], ["a", "bc"]]`, `"a  bc\n-  --"`, ""},
		{"fmt.table", `[[], []]`, `""`, ""},
		{"fmt.table", `[[1], []]`, `fault: table: row 0 is Int, not an Array`, ""},
	})
}
