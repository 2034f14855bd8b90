package driver

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/ir"
)

const hosts = `
-- Concerto.toml --
[project]
name = "demo"
entry = "src/main.conc"

[connections.rules]
provider = "scripted"
script = "replies.json"

[hosts.worker]
command = "./bin/worker"
args = ["-v"]
env = { B = "2", A = "1" }
working_dir = "bin"
timeout = 30
question_timeout = 5
question_default = "no \"idea\""
approval_default = "no"
output_format = "text"
instances = 2
max_line = 1000
[hosts.worker.params]
z = 1
a = 9007199254740993
[hosts.worker.params_env]
token = "TOKEN"

[limits]
max_run_seconds = 60
max_tokens = 1000

[permissions]
env = ["HOME"]
-- replies.json --
[{"text": "yes"}]
-- src/main.conc --
host Worker { connector: worker, output_format: "json", timeout: 20 }
agent A uses rules { model: "m" }

fn main() {
    emit("a", A.execute(Worker.execute("x")?)?.text);
}
`

func build(t *testing.T, path, dir string) *ir.Program {
	t.Helper()
	in, err := Load(Request{Path: path, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p, l := Build(in)
	if p == nil || l.HasErrors() {
		for _, d := range l.Sorted() {
			t.Errorf("%s: %s", d.Info.Code, d.Message)
		}
		t.FailNow()
	}
	return p
}

// TestBuildEmbedsTheManifest checks that the IR contains the manifest's settings, and that settings
// in the source take precedence.
func TestBuildEmbedsTheManifest(t *testing.T) {
	p := build(t, "", tree(t, hosts))
	want := ir.Host{
		Name: "Worker", Connector: "worker", Params: []byte(`{"z":1,"a":9007199254740993}`),
		Config: []byte(`{"command":"./bin/worker","args":["-v"],"env":{"B":"2","A":"1"},"working_dir":"bin","timeout":20.0,"question_timeout":5,` +
			`"question_default":"no \"idea\"","approval_default":"no","output_format":"json","instances":2,"max_line":1000,"params_env":{"token":"TOKEN"}}`),
	}
	if len(p.Hosts) != 1 {
		t.Fatalf("the IR has %d hosts, want 1", len(p.Hosts))
	}
	if d := cmp.Diff(want, p.Hosts[0]); d != "" {
		t.Error(d)
	}
	if got := string(p.Connections[0].Config); got != `{"provider":"scripted","replies":[{"text":"yes"}],"origin":"Concerto.toml:5"}` {
		t.Error(got)
	}
	if p.Name != "demo" || p.Limits != (ir.Limits{MaxRunSeconds: 60, MaxTokens: 1000}) || p.Permissions == nil || len(p.Permissions.Env) != 1 {
		t.Errorf("name %q, limits %+v, permissions %+v differ from the manifest", p.Name, p.Limits, p.Permissions)
	}
	if p.Files[0].Name != "src/main.conc" {
		t.Error(p.Files[0].Name)
	}
}

// TestBuildIsTheSameAnywhere builds the same sources in two locations and from several working
// directories. The IR must always have the same bytes.
func TestBuildIsTheSameAnywhere(t *testing.T) {
	a, b := tree(t, hosts), tree(t, hosts)
	first := ir.Encode(build(t, "", a))
	for _, c := range [][2]string{
		{"", filepath.Join(a, "src")}, {".", b}, {"main.conc", filepath.Join(b, "src")},
		{filepath.Join(b, "src", "main.conc"), a}, {b, a},
	} {
		if got := ir.Encode(build(t, c[0], c[1])); !bytes.Equal(got, first) {
			t.Errorf("the IR of %q in %s differs (-first +got): %s", c[0], c[1], cmp.Diff(string(first), string(got)))
		}
	}
}

// TestCheckReportsAllErrors checks that errors in the manifest and in the program are reported
// together.
func TestCheckReportsAllErrors(t *testing.T) {
	in, err := Load(Request{Dir: tree(t, "-- Concerto.toml --\n[hosts.w]\ntimeout = \"x\"\n-- main.conc --\nfn main() { let a: Int = true; emit(\"a\", a); }\n")})
	if err != nil {
		t.Fatal(err)
	}
	l := Check(in)
	var got []string
	for _, d := range l.Sorted() {
		got = append(got, d.File.Name+" "+d.File.Position(d.Span.Start).String())
	}
	if d := cmp.Diff([]string{"Concerto.toml 1:8", "Concerto.toml 2:11", "main.conc 1:26"}, got); d != "" {
		t.Error(d)
	}
	if built, _ := Build(in); built != nil {
		t.Error("Build returned a program with errors, want nil")
	}
}

func TestStages(t *testing.T) {
	in, err := Load(Request{Path: "main.conc", Dir: tree(t, "-- main.conc --\nfn f() { 1 }\n")})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"tokens": "1:1 `fn` \"fn\"\n1:4 a name \"f\"\n1:5 `(` \"(\"\n1:6 `)` \")\"\n1:8 `{` \"{\"\n1:10 an integer \"1\"\n1:12 `}` \"}\"\n2:1 end of file \"\"\n",
		"ast":    "FnDecl Name=f",
		"ir":     "{\"version\":",
		"asm":    "f0 f() -> Full",
	}
	for _, s := range Stages {
		var b bytes.Buffer
		if l, err := s.Write(&b, in); l.HasErrors() || err != nil || want[s.Name] == "" || !strings.HasPrefix(b.String(), want[s.Name]) {
			t.Errorf("stage %s: output %q, diagnostics %v, error %v", s.Name, b.String(), l, err)
		}
	}
	if len(Stages) != len(want) {
		t.Errorf("there are %d stages, want %d", len(Stages), len(want))
	}
}

const modules = `
-- Concerto.toml --
[project]
entry = "src/main.conc"
-- src/main.conc --
mod util;
mod deep;
use util::add;

fn main() { emit("x", add(2, deep::two())); }
-- src/util.conc --
pub fn add(a: Int, b: Int) -> Int { a + b }
-- src/deep/mod.conc --
pub fn two() -> Int { 2 }
`

// TestBuildModules checks that the IR names the files of modules by their path relative to the
// root.
func TestBuildModules(t *testing.T) {
	dir := tree(t, modules)
	p := build(t, "", dir)
	var names []string
	for _, f := range p.Files {
		if f.Text != "" {
			names = append(names, f.Name)
		}
	}
	if d := cmp.Diff([]string{"src/main.conc", "src/util.conc", "src/deep/mod.conc"}, names); d != "" {
		t.Error(d)
	}
	if rebuilt := build(t, "../src/main.conc", filepath.Join(dir, "src")); !bytes.Equal(ir.Encode(rebuilt), ir.Encode(p)) {
		t.Error("the IR depends on the working directory")
	}
}

// TestCheckModules checks that an error in a module's file is reported in that file, with the path
// that the user sees.
func TestCheckModules(t *testing.T) {
	in, err := Load(Request{Path: "p/main.conc", Dir: tree(t, "-- p/main.conc --\nmod a;\nmod gone;\nfn main() { a::f(); }\n-- p/a.conc --\npub fn f() { let x: Int = true; emit(\"x\", x); }\n")})
	if err != nil {
		t.Fatal(err)
	}
	l := Check(in)
	var got []string
	for _, d := range l.Sorted() {
		got = append(got, d.File.Name+" "+d.File.Position(d.Span.Start).String())
	}
	if d := cmp.Diff([]string{"p/a.conc 1:27", "p/main.conc 2:5"}, got); d != "" {
		t.Error(d)
	}
}
