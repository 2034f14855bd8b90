package analysis

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// TestOtherSpellings checks that references are found if they use another spelling: an alias of an
// alias, `Self` or `super`.
func TestOtherSpellings(t *testing.T) {
	dir := writeTree(t, `
-- main.conc --
mod shapes;
mod other;
mod third;
pub fn top() -> Int { 1 }
fn main() { let n = shapes::area(1) + other::by() + third::far(); emit("n", n + top()); }
-- shapes.conc --
pub struct Point { pub x: Int }
pub type Place = Point;
pub fn area(n: Int) -> Int { n }
-- other.conc --
pub use shapes::area as size;
use shapes::Place;
impl Place { pub fn at(x: Int) -> Self { Self { x: x } } }
pub fn by() -> Int { size(Place::at(1).x) }
-- third.conc --
use other::{size as extent};
pub fn far() -> Int { extent(2) + super::top() }
`)
	s := New(Options{Folders: []string{dir}}).Snapshot()
	for what, want := range map[string]int{`shapes\.conc.*struct (Point)`: 4, `shapes\.conc.*fn (area)`: 8, `main\.conc.*fn (top)`: 3, `main\.conc.*mod (other)`: 3} {
		var found []Location
		for _, p := range s.Files() {
			text := filepath.Base(p) + s.File(p).String()
			if at := regexp.MustCompile(`(?s)^` + what).FindStringSubmatchIndex(text); at != nil {
				found = s.References(context.Background(), p, source.Pos(at[2]-len(filepath.Base(p))), true)
			}
		}
		if len(found) != want {
			t.Errorf("%s: %d references, want %d: %v", what, len(found), want, formatLocations(found))
		}
	}
}

// TestFreshNames checks that renames to a fresh name pass the full check, which Rename skips for
// such names.
func TestFreshNames(t *testing.T) {
	dir := writeTree(t, mixed)
	s := New(Options{Folders: []string{dir}}).Snapshot()
	ctx := context.Background()
	fresh := 0
	for _, p := range s.Files() {
		f := s.checkFile(ctx, p)
		if f == nil {
			continue
		}
		for _, ref := range f.refs() {
			r, err := s.findRename(ctx, p, ref.At.Start)
			if err != nil {
				continue
			}
			for _, name := range []string{"zz", "Zz", "area", "main", "println", "Int", "sqrt"} {
				is := s.isFresh(r, name)
				if is && name != "zz" && name != "Zz" {
					t.Errorf("isFresh(%q) = true, want false", name)
				}
				if !is || r.ref.Def.At != ref.At {
					continue
				}
				out, err := s.Rename(ctx, p, ref.At.Start, name)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.checkUnchanged(ctx, r, out.Edits, name); err != nil {
					t.Errorf("rename of %s in %s: %v", r.text, p, err)
				}
				fresh++
			}
		}
	}
	if fresh < 8 {
		t.Errorf("number of fresh renames = %d, want at least 8", fresh)
	}
}

// TestSpelledReferences compares two searches for references: one that reads only the declarations
// that spell the name, and one that reads all declarations. The results are equal, also if the
// check reused bodies.
func TestSpelledReferences(t *testing.T) {
	randtest.InOneGoroutine(t)
	for name, archive := range map[string]string{"mixed": mixed, "examples": examplesAsModules(t)} {
		t.Run(name, func(t *testing.T) {
			dir := writeTree(t, archive)
			main := filepath.Join(dir, "main.conc")
			ws := New(Options{Folders: []string{dir}})
			text := ws.Snapshot().File(main).String()
			ctx := context.Background()
			compared := 0
			for round, p := range ws.Snapshot().Files() {
				for k := range 12 {
					ws.Open(main, text+strings.Repeat(" ", 12*round+k))
					s := ws.Snapshot()
					f := s.checkFile(ctx, p)
					if f == nil || len(f.refs()) == 0 {
						break
					}
					if compared > 0 && f.res.prog.ReusedBodies() == 0 {
						t.Fatal("no results were reused")
					}
					ref := f.refs()[len(f.refs())*k/12]
					wanted := identities([]sema.Ref{ref})
					roots := s.rootsSharing(f, wanted)
					spelled := s.spellingOf(ctx, roots, []sema.Ref{ref})
					for _, r := range roots {
						got := formatLocations(s.findUses(ctx, r, wanted, spelled, true))
						if d := cmp.Diff(formatLocations(s.findUses(ctx, r, wanted, &spelling{all: true}, true)), got); d != "" {
							t.Fatalf("references to %s in %s differ: %s", ref.Def.Name, p, d)
						}
						compared += len(got)
					}
				}
			}
			if compared < 200 {
				t.Errorf("number of compared locations = %d, want at least 200", compared)
			}
		})
	}
}
