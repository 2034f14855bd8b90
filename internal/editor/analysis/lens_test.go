package analysis

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const lensProgram = `host Worker { connector: worker, question_default: "yes" }
agent Judge uses rules { model: "m" }

fn twice(n: Int) -> Int { n * 2 }

struct Point { x: Int }
impl Point { fn far(self) -> Int { twice(self.x) + twice(1) } }

@test
fn doubles() { assert_eq(twice(1), 2); }

fn ok(q: HostApproval) -> Bool { true }

fn main() {
    let r = listen Worker.execute("go") {
        "approval" => ok,
    };
    let j = Judge.execute("x");
    println(Point { x: 1 }.far());
}
@eval(data: "rows.jsonl") fn positive(row: Int) -> Bool { row > 0 }
`

const lensManifest = "-- rows.jsonl --\n1\n-- Concerto.toml --\n[connections.rules]\nprovider = \"scripted\"\ndefault_model = \"m\"\nreplies = [{ text = \"x\" }]\n\n[hosts.worker]\ncommand = \"./w\"\n"

// TestLenses checks the code lenses of a program.
func TestLenses(t *testing.T) {
	dir := writeTree(t, lensManifest+"-- main.conc --\n"+lensProgram)
	path := filepath.Join(dir, "main.conc")
	s := New(Options{Folders: []string{dir}}).Snapshot()
	var got []string
	for _, l := range s.Lenses(context.Background(), path) {
		what := [...]string{"run", "test", "eval", "answers", "uses"}[l.Kind]
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s %s %d", s.File(path).LineOf(l.Span.Start), what, l.Name, l.Text, len(l.Uses))))
	}
	want := `1 answers Worker question: question_default · approval: main 1
1 uses Worker  1
2 uses Judge  1
4 uses twice  3
6 uses Point  2
7 uses far  1
10 test doubles  0
12 uses ok  1
14 run main  0
15 answers Worker question: question_default · approval: ok 1
21 eval positive  0`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("lenses:\n%s\nwant\n%s", text, want)
	}
}

// TestLensesAfterAnEdit edits a function body in one module. The lens of a host still includes the
// answers of the other modules.
func TestLensesAfterAnEdit(t *testing.T) {
	dir := writeTree(t, lensManifest+"-- main.conc --\nmod other;\npub host Worker { connector: worker }\nfn f() -> Int { 1 }\nfn main() { other::g(); println(f()); }\n"+
		"-- other.conc --\nuse super::Worker;\npub fn g() { let r = listen Worker.execute(\"x\") { \"question\" => |q| 1 }; println(r); }\n")
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "main.conc")
	text := ws.Snapshot().File(path).String()
	for i := range 3 {
		ws.Open(path, strings.Replace(text, "{ 1 }", fmt.Sprintf("{ %d }", i), 1))
		if all := ws.Snapshot().Lenses(context.Background(), path); len(all) == 0 || all[0].Text != "question: g · approval: nobody" {
			t.Errorf("lenses after an edit of a body = %+v, want a first one with the answers of all modules", all)
		}
	}
}

func TestLensesOfOddTexts(t *testing.T) {
	dir := writeTree(t, lensManifest+"-- main.conc --\n")
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "main.conc")
	for i := 0; i < len(lensProgram); i += 5 {
		ws.Open(path, lensProgram[:i])
		ws.Snapshot().Lenses(context.Background(), path)
	}
	ws.Open("untitled:x", lensProgram)
	if all := ws.Snapshot().Lenses(context.Background(), "untitled:x"); len(all) == 0 {
		t.Error("no lenses for an untitled document")
	}
	if all := ws.Snapshot().Lenses(context.Background(), filepath.Join(dir, "Concerto.toml")); all == nil || len(all) > 0 {
		t.Errorf("lenses of a manifest = %v, want an empty list", all)
	}
}
