package uses_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/packages/uses"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

const project = `[project]
name = "p"
[connections.main]
provider = "scripted"
default_model = "m"
[hosts.worker]
command = "w"
output_format = "json"
[mcp.Files]
command = "f"
[dependencies]
lib = { path = "lib" }
`

// usesOf returns the uses of a package with the given code, and their places.
func usesOf(t *testing.T, code string) (all []string, found []uses.Found) {
	t.Helper()
	root, err := filepath.Abs("/")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"Concerto.toml": {Data: []byte(project)}, "main.conc": {Data: []byte("fn main() {}\n")},
		"lib/Concerto.toml": {}, "lib/lib.conc": {Data: []byte(code)}}
	in, err := driver.Load(driver.Request{Path: ".", Dir: root, Sources: driver.FromFS(files, root)})
	if err != nil {
		t.Fatal(err)
	}
	result, l := driver.PackageUses(in)
	for _, d := range l.Sorted() {
		if d.Severity() == 0 || l.HasErrors() {
			t.Fatalf("%s\n%s: %s", code, d.Info.Code, d.Message)
		}
	}
	found = result[in.Packages[0].Package]
	for _, u := range uses.Uses(found) {
		all = append(all, string(u))
	}
	return all, found
}

// TestUses checks what the code of a package may use.
func TestUses(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{`pub fn f(n: Int) -> Int { n + [1, 2].len() }`, ""},
		{`pub fn f() -> String { std::fs::read_file("a/../notes.txt").unwrap_or("") }`, "read:notes.txt"},
		{`const F: String = "notes.txt"; pub fn f() -> String { std::fs::read_file(F).unwrap_or("") }`, "read:notes.txt"},
		{`const F: String = "n"; const G: String = F; pub fn f() -> String { std::fs::read_file((G)).unwrap_or("") }`, "read:n"},
		{`pub fn f(p: String) -> String { std::fs::read_file(p).unwrap_or("") }`, "read"},
		{`pub fn f(n: Int) -> String { std::fs::read_file("a/${n}").unwrap_or("") }`, "read"},
		{`pub fn f() { std::fs::write_file("out.txt", "x").unwrap(); std::fs::append_file("out.txt", "x").unwrap(); }`, "write:out.txt"},
		{`pub fn f() { std::fs::copy_file("a", "b").unwrap(); }`, "read:a write:b"},
		{`pub fn f() { std::fs::move_file("a", "b").unwrap(); }`, "read:a write:a write:b"},
		{`pub fn f() -> Int { std::fs::glob("src/**/*.md").unwrap_or([]).len() }`, "read:src"},
		{`pub fn f() -> Bool { std::fs::exists("a") && std::fs::is_dir("b") }`, "read:a read:b"},
		{`pub fn f() -> String { std::fs::temp_dir() }`, ""},
		{`pub fn f() -> String { env("HOME") ?? std::env::get("USER") ?? "" }`, "env:HOME env:USER"},
		{`pub fn f() -> Int { std::env::all().len() }`, "env"},
		{`pub fn f() { let _ = std::http::get("https://API.example.com/x"); }`, "net:api.example.com"},
		{`pub fn f() { let _ = std::http::get("https://api.example.com:8443/x"); }`, "net:api.example.com:8443"},
		{`pub fn f(id: Int) { let _ = std::http::post("https://api.example.com/${id}"); }`, "net:api.example.com"},
		{`pub fn f(id: Int) { let _ = std::http::get("https://api.example.com${id}"); }`, "net"},
		{`pub fn f(h: String) { let _ = std::http::get("https://${h}/x"); }`, "net"},
		{`pub fn f(h: String) { let _ = std::http::get("https://user@${h}/x"); }`, "net"},
		{`pub fn f() { let _ = std::http::request("PUT", url: "https://a.example/x"); }`, "net:a.example"},
		{`pub fn f() { "https://a.example/x" |> std::http::get; }`, "net:a.example"},
		{`pub fn f() { "https://a.example/x" |> std::http::get({ "A": "b" }); }`, "net:a.example"},
		{`pub fn f() { let g = std::http::get; let _ = g("https://a.example/", {}); }`, "net"},
		{`pub fn f() { let g = (std::http::get); let _ = (g)("https://a.example/", {}); }`, "net"},
		{`use std::prompt::from_file; pub fn f() -> Int { [from_file].len() }`, "read"},
		{`pub fn f(u: String) { u |> std::http::get({ "A": "b" }); }`, "net"},
		{`pub fn f() { ("x" |> std::fs::read_file).unwrap_or("") |> println; }`, "read:x"},
		{`pub fn f() -> String { std::prompt::from_file("p.md").unwrap_or("") }`, "read:p.md"},
		{`pub fn f() { [1].each(|n| { let _ = std::http::get("https://in.closure.example/${n}"); }); }`, "net:in.closure.example"},
		{`use std::tools::RunCommand; pub fn f() { let _ = RunCommand.run("git"); }`, "run:git"},
		{`use std::tools::RunCommand; pub fn f(c: String) { let _ = RunCommand.run(c); }`, "run"},
		{`use std::tools::{RunCommand, HttpGet}; agent A uses main { model: "m", tools: [RunCommand, HttpGet] }`, "model:main net run"},
		{`agent A uses main { model: "m" } pub fn f() { let _ = A.execute("x"); }`, "model:main"},
		{`agent A uses main { model: "m" } pub fn f() { let _ = A.with_files(["a.png", "b.png"]).execute("x"); }`, "model:main read:a.png read:b.png"},
		{`pub fn f(a: Agent) { let _ = a.execute("x"); }`, ""},
		{`host H { connector: worker }`, "host:worker"},
		{`mcp Files { fn read(path: String) -> Result<String, ToolError>; }`, "mcp:Files"},
		{`hashmap Seen: HashMap<String, Int> = HashMap::new().with_persistence("seen.db");`, "read:seen.db write:seen.db"},
		{`hashmap Seen: HashMap<String, Int> = HashMap::new();`, ""},
		{`@cache(ttl_seconds: 60.0, persist: "c.db") pub fn f(n: Int) -> Int { n }`, "read:c.db write:c.db"},
		{`@test fn t() { let _ = std::http::get("https://test.example/"); }`, ""},
		{`pub mod inner { pub fn f() -> String { env("INNER") ?? "" } }`, "env:INNER"},
		{`pub fn f() -> String { env("A") ?? env_of("B") } fn env_of(n: String) -> String { env(n) ?? "" }`, "env"},
		{`pub fn f() { let _ = std::work::list(); }`, "run"},
		{`pub struct S { n: Int } impl S { pub fn f(self) -> String { env("M") ?? "" } }`, "env:M"},
		{`pub fn f() { log_info(); println("x"); emit("c", std::time::now_ms()); } fn log_info() { std::log::info("x"); }`, ""},
	} {
		got, _ := usesOf(t, c.code)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s\nuses %q, want %q", c.code, strings.Join(got, " "), c.want)
		}
	}
}

// TestPlaces checks the place of a use.
func TestPlaces(t *testing.T) {
	_, found := usesOf(t, "pub fn f() -> String {\n    env(\"A\") ?? \"\"\n}\n")
	if len(found) != 1 || !strings.HasSuffix(found[0].Place(), "lib.conc:2:5") {
		t.Errorf("found %+v", found)
	}
}

// TestParametersExist checks that the natives of the library have the parameters that the table of
// permissions names.
func TestParametersExist(t *testing.T) {
	lib := stdlib.Library()
	seen := map[effect.Kind]bool{}
	for _, name := range lib.Modules() {
		for _, e := range effectsIn(lib, name) {
			needs, known := permit.StaticNeeds(effect.Kind(e.name))
			if !known {
				continue
			}
			seen[effect.Kind(e.name)] = true
			for _, n := range needs {
				if n.Param != "" && !slices.Contains(e.params, n.Param) {
					t.Errorf("%s has the parameters %q, and the table of permissions names %q", e.name, e.params, n.Param)
				}
			}
		}
	}
	for _, kind := range permit.Effects() {
		needs, _ := permit.StaticNeeds(kind)
		if named := slices.ContainsFunc(needs, func(n permit.Static) bool { return n.Param != "" }); named && !seen[kind] {
			t.Errorf("no function of a module of the library makes the request %s, whose row names a parameter", kind)
		}
	}
}

type effectFn struct {
	name   string
	params []string
}

// effectsIn returns the functions of a module of the library that are effects.
func effectsIn(lib sema.Library, module string) (out []effectFn) {
	for _, d := range lib.Module(module).Decls {
		fn, ok := d.(*ast.FnDecl)
		if !ok {
			continue
		}
		for _, x := range fn.Decorators {
			if x.Name.Name != "effect" {
				continue
			}
			e := effectFn{name: x.Args[0].Value.(*ast.StringLit).Value}
			for _, p := range fn.Params {
				e.params = append(e.params, p.Name.Name)
			}
			out = append(out, e)
		}
	}
	return out
}
