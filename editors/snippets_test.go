package editors_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// around maps snippets that are not a whole file to the code around them. % represents the snippet.
var around = map[string]string{
	"emit":      "fn main() { % }",
	"await":     "fn main() -> Result<Nil, Any> { % println(allowed); Ok(nil) }",
	"parallel":  "fn main() { % println(results); }",
	"if let":    "fn main() { let value = Some(1); % }",
	"let else":  "fn main() { let value = Some(1); % println(x); }",
	"for":       "fn main() { % }",
	"while let": "fn main() { let mut values = [1]; % }",
	"try":       "fn main() { % }",
	"ask":       "host Coder { connector: coder }\nfn main() { % println(done); }",
	"execute":   "agent Writer uses scripted {}\nfn main() -> Result<Nil, Any> { % println(text); Ok(nil) }",
	"merge":     "use std::merge;\nfn main() -> Result<Nil, Any> { % println(changes); Ok(nil) }",
	"workspace": "use std::work;\nfn main() -> Result<Nil, Any> { % println(ws.dir); Ok(nil) }",
	"eval":      "schema Row { text: String, want: Bool }\n%",
	"impl":      "struct Point { x: Int, y: Int }\n%",
	"function":  "%\nfn main() { println(name(1)); }",
	"listen":    "host Coder { connector: coder }\nfn main() { % println(done); }",
	"typed":     "schema Verdict { ok: Bool }\nagent Judge uses scripted {}\nfn main() -> Result<Nil, Any> { % println(verdict.ok); Ok(nil) }",
	"match":     "fn main() { let value = \"1\".parse_int(); println(%); }",
	"mock":      "agent Judge uses scripted {}\n@test fn t() { % assert(Judge.execute(\"x\").is_ok()); }",
}

// bodies maps snippets that must return a value to the text that replaces `$0`.
var bodies = map[string]string{"function": "n", "tool": `"text"`, "pipeline": "text", "task": "n", "impl": "self.x", "eval": "row.want"}

var place = regexp.MustCompile(`\$\{\d+:([^{}]*)\}`)

// TestSnippets checks that each snippet compiles.
func TestSnippets(t *testing.T) {
	text, err := os.ReadFile("vscode/snippets/concerto.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Prefix, Description string
		Body                []string
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 33 {
		t.Errorf("number of snippets = %d", len(all))
	}
	for name, s := range all {
		body := place.ReplaceAllString(strings.Join(s.Body, "\n"), "$1")
		body = strings.ReplaceAll(body, "$0", bodies[name])
		if p := around[name]; p != "" {
			body = strings.Replace(p, "%", body, 1)
		}
		file, list := parser.Parse(source.NewFile(name, []byte(body)))
		_, found := sema.Check(sema.Config{Name: name, Library: stdlib.Library(), AnyConnection: true, Manifest: &sema.Manifest{Unread: true}}, file)
		list.Append(found)
		for _, d := range list.Sorted() {
			if d.Severity() == diag.Error {
				t.Errorf("%s: %s: %s\n%s", name, d.Info.Code, d.Message, body)
			}
		}
	}
}
