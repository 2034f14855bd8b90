package analysis

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestImplementationsOfBuiltin checks that the implementations of a trait include those for
// built-in types. A built-in type is declared in no file, so the location is the type's name in the
// impl.
func TestImplementationsOfBuiltin(t *testing.T) {
	const text = `trait Show { fn show(self) -> String; }
struct Point { x: Int }
impl Show for Point { fn show(self) -> String { "p" } }
impl Show for Int { fn show(self) -> String { "i" } }
impl<T> Show for Array<T> { fn show(self) -> String { "a" } }
fn main() { println(1.show()); println([1].show()); }
`
	dir := writeTree(t, "-- main.conc --\n"+text)
	s := New(Options{Folders: []string{dir}}).Snapshot()
	for name, want := range map[string]string{"Show": "2:8 Point, 4:15 Int, 5:18 Array<T>", "show": "3:26 show, 4:24 show, 5:32 show"} {
		var got []string
		for _, l := range s.Implementations(context.Background(), filepath.Join(dir, "main.conc"), source.Pos(strings.Index(text, name))) {
			got = append(got, fmt.Sprintf("%s %s", l.File.Position(l.Span.Start), l.File.Slice(l.Span)))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("implementations of %s = %s, want %s", name, got, want)
		}
	}
}
