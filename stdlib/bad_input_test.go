package stdlib_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/stdlib"
)

// odd contains, by type, values that functions are likely to handle incorrectly: empty, negative
// and huge values, NaN, and unusual texts.
var odd = map[string][]string{
	"Int":                 {"0", "-1", "1", "64", "9223372036854775807", "-9223372036854775808"},
	"Float":               {"0.0", "-0.0", "1.0 / 0.0", "-1.0 / 0.0", "0.0 / 0.0", "1e308", "5e-324"},
	"Bool":                {"true"},
	"String":              {`""`, `"a"`, `"é\u{0}\u{1F600}e\u{301}"`, `"("`, `"\n\r\n"`, `"-9223372036854775808"`},
	"Any":                 {"nil", "1", "0.0 / 0.0", `""`, "[]", "{}"},
	"T":                   {"0", "-9223372036854775808"},
	"Array<T>":            {"[]", "[1, 1]"},
	"Array<String>":       {"[]", `["", "a"]`},
	"Array<Any>":          {"[]", "[nil, [[]]]"},
	"Array<Array<Any>>":   {"[]", "[[], [1, nil]]"},
	"Map<String, Any>":    {"{}", `{ "": nil }`},
	"Map<String, String>": {"{}"},
	"Int | Float":         {"0", "0.0 / 0.0"},
}

// oddReceivers contains the types whose methods are called, with the type of a variable of that
// type.
var oddReceivers = map[string]string{"Int": "Int", "Float": "Float", "String": "String", "Bool": "Bool", "Array": "Array<Int>"}

var (
	signature = regexp.MustCompile(`^fn (\w+)(?:<[^>]*>)?\((.*)\)(?: -> .*)?$`)
	argument  = regexp.MustCompile(`^(\w+): ([^=]+?)(?: = .*)?$`)
)

// TestExtremeArguments calls all functions of the library that accept plain values, with every odd
// value. Each call must return a value or raise an error that the program can catch.
func TestExtremeArguments(t *testing.T) {
	var text strings.Builder
	calls, functions := 0, 0
	for _, p := range stdlib.Pages() {
		for _, s := range p.Sections {
			for _, e := range s.Entries {
				for _, call := range oddCalls(p, e) {
					if calls%8 == 0 {
						fmt.Fprintf(&text, "fn f%d() {\n", functions)
						functions++
					}
					calls++
					fmt.Fprintf(&text, "    try { %s } catch {}\n", call)
					if calls%8 == 0 {
						text.WriteString("}\n")
					}
				}
			}
		}
	}
	if calls%8 != 0 {
		text.WriteString("}\n")
	}
	text.WriteString("fn text(s: String) -> String { s }\nfn main() {\n")
	for i := range functions {
		fmt.Fprintf(&text, "    f%d();\n", i)
	}
	text.WriteString("}\n")
	if calls < 1500 {
		t.Errorf("generated only %d calls, want at least 1500", calls)
	}
	t.Logf("generated %d calls", calls)
	runProgram(t, compiletest.Compile(t, oddModules+text.String()), false)
}

// oddModules imports the modules of the library that have no side effects.
const oddModules = "use std::crypto;\nuse std::eval;\nuse std::fmt;\nuse std::json;\nuse std::math;\nuse std::prompt;\nuse std::random;\nuse std::regex;\nuse std::string;\nuse std::time;\n"

// oddCalls returns calls of an entry. In each call one argument has one of the odd values of its
// type, and the other arguments have the second odd value of theirs.
func oddCalls(p stdlib.Page, e stdlib.Entry) []string {
	m := signature.FindStringSubmatch(e.Signature)
	if m == nil || strings.Contains(e.Signature, "…") || strings.Contains(m[2], "fn(") || oddTyped[e.Name] {
		return nil
	}
	typ, method, isMethod := strings.Cut(e.Name, ".")
	variable, found := oddReceivers[typ]
	if isMethod && !found || !isMethod && (!strings.Contains(oddModules, "std::"+p.Name+";") || e.Name == "time::sleep") {
		return nil
	}
	var types []string
	for _, a := range split(m[2]) {
		if a == "self" || a == "mut self" {
			continue
		}
		x := argument.FindStringSubmatch(a)
		if x == nil || odd[x[2]] == nil {
			return nil // the entry has a parameter whose type has no odd values
		}
		types = append(types, x[2])
	}
	first, rest := "", types
	if isMethod {
		first, rest = variable, types
	}
	receiverOdd := odd[first]
	if typ == "Array" {
		receiverOdd = odd["Array<T>"]
	}
	var out []string
	write := func(receiver string, args []string) {
		list := strings.Join(args, ", ")
		if isMethod {
			out = append(out, fmt.Sprintf("let mut v: %s = %s; let _ = v.%s(%s);", variable, receiver, method, list))
		} else {
			out = append(out, fmt.Sprintf("let _ = %s(%s);", e.Name, list))
		}
	}
	usual := func() []string {
		var args []string
		for _, x := range rest {
			v := odd[x]
			args = append(args, written(v[min(1, len(v)-1)]))
		}
		return args
	}
	if !isMethod {
		receiverOdd = []string{""}
	}
	for _, receiver := range receiverOdd {
		write(receiver, usual())
		for i, x := range rest {
			for _, v := range odd[x] {
				args := usual()
				args[i] = written(v)
				write(receiver, args)
			}
		}
	}
	return out
}

// oddTyped contains functions that require a type as argument. Other tests test them.
var oddTyped = map[string]bool{"Array.flatten": true, "eval::valid_json": true, "json::parse_as": true, "random::choice": true, "random::shuffle": true}

// written returns a value as program text. A String is passed through a function, so that the
// compiler does not see its text and cannot reject it.
func written(v string) string {
	if strings.HasPrefix(v, `"`) {
		return "text(" + v + ")"
	}
	return v
}

// split splits a list at the commas that are outside of brackets.
func split(list string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range list + "," {
		switch {
		case strings.ContainsRune("(<[{", c):
			depth++
		case strings.ContainsRune(")>]}", c):
			depth--
		case c == ',' && depth == 0:
			if part := strings.TrimSpace(list[start:i]); part != "" {
				out = append(out, part)
			}
			start = i + 1
		}
	}
	return out
}
