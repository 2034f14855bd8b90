package main

import (
	"fmt"
	"strings"
)

// conc returns the language Concerto. command is the path of `concerto`.
func conc(command string) language {
	part := func(prefix string, n int) string {
		return repeated(n, func(i int) string {
			return fmt.Sprintf(`struct %[1]s%[2]d { a: Int, b: String }
pub fn f%[2]d(k: Int) -> Int {
    let s = %[1]s%[2]d { a: k, b: "x" };
    let mut total = 0;
    for x in [1, 2, 3] {
        if x > k { total += x * s.a; } else { total -= s.b.len(); }
    }
    let ys = [1, 2].map(|y| y + total);
    ys.len() + total
}
`, prefix, i)
		})
	}
	return language{
		name: "concerto lsp", command: []string{command, "lsp"}, id: "concerto", file: ".conc",
		long: func(n int) string { return part("S", n-1) + "fn main() { emit(\"a\", f0(1)); }\n" },
		many: func(n int) map[string]string {
			files := map[string]string{"common.conc": "pub fn used(k: Int) -> Int { k }\n"}
			var main, body strings.Builder
			for i := range n {
				fmt.Fprintf(&main, "mod m%d;\n", i)
				fmt.Fprintf(&body, "    emit(\"a\", m%d::f0(1));\n", i)
				files[fmt.Sprintf("m%d.conc", i)] = part("S", 99) + "pub fn g() -> Int { common::used(1) }\n"
			}
			files["main.conc"] = main.String() + "mod common;\nfn main() {\n" + body.String() + "}\n"
			return files
		},
		common: "common.conc", module: "m7.conc", body: "ys.len()", hole: "s.", renamed: "renamed",
	}
}

// golang returns the language Go, with which Concerto is compared. command is the path of gopls.
func golang(command string) language {
	part := func(prefix string, n int) string {
		return repeated(n, func(i int) string {
			return fmt.Sprintf(`type %[1]s%[2]d struct { a int; b string }
func F%[2]d(k int) int {
	s := %[1]s%[2]d{a: k, b: "x"}
	total := 0
	for _, x := range []int{1, 2, 3} {
		if x > k { total += x * s.a } else { total -= len(s.b) }
	}
	ys := []int{1 + total, 2 + total}
	return len(ys) + total
}
`, prefix, i)
		})
	}
	return language{
		name: "gopls", command: []string{command}, id: "go", file: ".go",
		long: func(n int) string { return "package main\n" + part("S", n-2) + "func main() { println(F0(1)) }\n" },
		many: func(n int) map[string]string {
			files := map[string]string{"go.mod": "module many\n\ngo 1.24\n", "common/common.go": "package common\n\nfunc Used(k int) int { return k }\n"}
			var main, body strings.Builder
			for i := range n {
				fmt.Fprintf(&main, "import \"many/m%d\"\n", i)
				fmt.Fprintf(&body, "\tprintln(m%d.F0(1))\n", i)
				files[fmt.Sprintf("m%d/m.go", i)] = fmt.Sprintf("package m%d\nimport \"many/common\"\n", i) + part("S", 97) + "func G() int { return common.Used(1) }\n"
			}
			files["main.go"] = "package main\n" + main.String() + "func main() {\n" + body.String() + "}\n"
			return files
		},
		common: "common/common.go", module: "m7/m.go", body: "ys) + total", hole: "s.", renamed: "Renamed",
	}
}

// repeated returns parts with at least n lines in total.
func repeated(n int, part func(i int) string) string {
	var b strings.Builder
	for i, lines := 0, 0; lines < n; i++ {
		text := part(i)
		lines += strings.Count(text, "\n")
		b.WriteString(text)
	}
	return b.String()
}
