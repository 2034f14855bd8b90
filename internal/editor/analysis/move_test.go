package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const moveProgram = `
-- Concerto.toml --
[project]
name = "p"
entry = "main.conc"

[connections.rules]
provider = "scripted"
default_model = "m"
script = "replies.json"
-- replies.json --
[{"text": "x"}]
-- main.conc --
mod shapes;
mod team;
use shapes::{area as size, Point};
use team::policy;
fn main() {
    emit("a", size(Point { x: 1 }));
    emit("b", shapes::area(Point { x: 1 }));
    emit("c", policy::limit());
    emit("d", team::policy::limit());
}
-- shapes.conc --
pub struct Point { pub x: Int }
pub fn area(p: Point) -> Int { p.x }
-- team.conc --
pub mod policy;
pub fn top() -> Int { 3 }
-- team/policy.conc --
use super::top;
pub fn limit() -> Int { top() + super::top() }
`

// TestMovedFilesPreserveMeaning moves files of a program. Afterwards the program has the same
// meaning and no errors.
func TestMovedFilesPreserveMeaning(t *testing.T) {
	for _, c := range []struct {
		name  string
		moves []string // pairs of old and new path
		want  string   // the new lines of all files, separated by `|`; "-" for no edits
	}{
		{"a file", []string{"shapes.conc", "forms.conc"}, "mod forms;|use forms::{area as size, Point};|    emit(\"b\", forms::area(Point { x: 1 }));"},
		{"into a directory of its own", []string{"shapes.conc", "shapes/mod.conc"}, ""},
		{"the entry", []string{"main.conc", "start.conc"}, "entry = \"start.conc\""},
		{"a script", []string{"replies.json", "data/r.json"}, "script = \"data/r.json\""},
		{"a directory and its module", []string{"team.conc", "crew.conc", "team", "crew"}, "mod crew;|use crew::policy;|    emit(\"d\", crew::policy::limit());"},
		{"into another module", []string{"shapes.conc", "team/shapes.conc"}, "use team::shapes::area as size;|use team::shapes::Point;|    emit(\"b\", team::shapes::area(Point { x: 1 }));|pub mod shapes;"},
		{"out of a module", []string{"team/policy.conc", "policy.conc"}, "mod policy;|    emit(\"d\", policy::limit());|use team::top;|pub fn limit() -> Int { top() + team::top() }"},
		{"to where nobody declares it", []string{"shapes.conc", "none/shapes.conc"}, "-"},
		{"to what is no name", []string{"shapes.conc", "my-shapes.conc"}, "-"},
		{"elsewhere", []string{"shapes.conc", "shapes.txt"}, "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeTree(t, moveProgram)
			ws := New(Options{Folders: []string{dir}})
			var all []Move
			for i := 0; i < len(c.moves); i += 2 {
				all = append(all, Move{filepath.Join(dir, c.moves[i]), filepath.Join(dir, c.moves[i+1])})
			}
			edits, err := ws.Snapshot().MoveEdits(context.Background(), all)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "-" {
				if len(edits) > 0 {
					t.Errorf("edits = %v, want none", edits)
				}
				return
			}
			var lines []string
			next := ws.Snapshot().withEdits(edits)
			for path, d := range next.open {
				was := strings.Split(string(ws.Snapshot().File(path).Text), "\n")
				text := string(d.file.Text)
				for line := range strings.SplitSeq(text, "\n") {
					if !slices.Contains(was, line) {
						lines = append(lines, line)
					}
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := strings.Split(c.want, "|")
			slices.Sort(want)
			slices.Sort(lines)
			if got := strings.Join(lines, "|"); got != strings.Join(want, "|") {
				t.Errorf("new lines:\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
			}
			for _, m := range all {
				if err := os.MkdirAll(filepath.Dir(m.To), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(m.From, m.To); err != nil {
					t.Fatal(err)
				}
			}
			found, err := New(Options{Folders: []string{dir}}).Snapshot().Diagnostics(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for path, ds := range found {
				for _, d := range ds {
					t.Error(fmt.Sprint(filepath.Base(path), ": ", d.Message))
				}
			}
		})
	}
}
