package analysis

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// writePrograms writes n programs with one error each and returns their paths.
func writePrograms(t *testing.T, n, lines int) (dir string, paths []string) {
	t.Helper()
	var archive strings.Builder
	for i := range n {
		fmt.Fprintf(&archive, "-- p%d.conc --\nfn main() { let n: Int = missing%d; emit(\"n\", n); }\n%s", i, i, strings.Repeat("fn f() -> Int { let a = [1, 2, 3]; a.len() + 4 * 5 }\n", lines))
	}
	dir = writeTree(t, archive.String())
	for i := range n {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("p%d.conc", i)))
	}
	return dir, paths
}

// TestResultsAreBounded checks more programs than fit into the limit. The least recently used
// results of programs without open files are dropped. Their diagnostics are returned without
// another check, and a query checks the program again.
func TestResultsAreBounded(t *testing.T) {
	dir, paths := writePrograms(t, 40, 1000)
	ws := New(Options{Folders: []string{dir}})
	ctx := context.Background()
	ws.Open(paths[0], ws.Snapshot().File(paths[0]).String())
	first, err := ws.Snapshot().Diagnostics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	retained := func() (names []string, size int) {
		for _, p := range paths {
			if s := ws.results.slots[p]; s.last != nil {
				names = append(names, filepath.Base(p))
				if !s.open {
					size += s.size
				}
			}
		}
		return names, size
	}
	names, size := retained()
	if len(names) < 3 || len(names) > 35 || names[0] != "p0.conc" || size > maxRetained {
		t.Errorf("retained results: %d bytes of %s", size, names)
	}
	if repeated, err := ws.Snapshot().Diagnostics(ctx); err != nil || cmp.Diff(counts(first), counts(repeated)) != "" {
		t.Error(err, cmp.Diff(counts(first), counts(repeated)))
	}
	if after, _ := retained(); cmp.Diff(names, after) != "" {
		t.Errorf("the program of the reported diagnostics was checked again: %s", cmp.Diff(names, after))
	}
	dropped := ""
	for _, p := range paths {
		if ws.results.slots[p].last == nil {
			dropped = p
		}
	}
	if h := ws.Snapshot().Hover(ctx, dropped, 4); h == nil || ws.results.slots[dropped].last == nil {
		t.Errorf("hover in %s after its result was dropped = %v, want a hover and a new result", dropped, h)
	}
	ws.Close(paths[0])
	if _, err := ws.Snapshot().Diagnostics(ctx); err != nil || ws.results.slots[paths[0]].open {
		t.Error("Diagnostics failed, or a closed program is marked as open:", err)
	}
	if names, size := retained(); size > maxRetained {
		t.Errorf("retained results after closing: %d bytes of %s", size, names)
	}
}

// counts returns the number of diagnostics of each file.
func counts(all map[string][]*diag.Diagnostic) map[string]int {
	out := map[string]int{}
	for p, list := range all {
		out[p] = len(list)
	}
	return out
}

// TestResultsHoldNoSnapshot checks that a result does not reference the snapshot for which it was
// computed. A snapshot references all roots.
func TestResultsHoldNoSnapshot(t *testing.T) {
	dir, paths := writePrograms(t, 3, 10)
	ws := New(Options{Folders: []string{dir}})
	ctx := context.Background()
	var before []weak.Pointer[Snapshot]
	for i, p := range paths {
		ws.Open(p, ws.Snapshot().File(p).String()+strings.Repeat("\n", i))
		s := ws.Snapshot()
		before = append(before, weak.Make(s))
		if s.Hover(ctx, p, 4) == nil || len(s.References(ctx, p, 4, true)) == 0 {
			t.Fatal("no hover or no references in an open program")
		}
	}
	ws.Close(paths[0])
	runtime.GC()
	for i, w := range before {
		if w.Value() != nil {
			t.Errorf("snapshot %d is still reachable", i)
		}
	}
	runtime.KeepAlive(ws)
}

// TestConcurrentResults queries and checks programs in several goroutines while programs are opened
// and closed.
func TestConcurrentResults(t *testing.T) {
	dir, paths := writePrograms(t, 12, 400)
	ws := New(Options{Folders: []string{dir}})
	ctx := context.Background()
	var all sync.WaitGroup
	for i, p := range paths {
		text := ws.Snapshot().File(p).String()
		all.Go(func() {
			for round := range 3 {
				ws.Open(p, text+strings.Repeat("\n", round))
				if h := ws.Snapshot().Hover(ctx, paths[(i+round)%len(paths)], 4); h == nil {
					t.Error("no hover in an open program")
				}
				ws.Close(p)
				if found, err := ws.Snapshot().Diagnostics(ctx); err != nil || len(found[p]) == 0 {
					t.Error(found[p], err)
				}
			}
		})
	}
	all.Wait()
}
