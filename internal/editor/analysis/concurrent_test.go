package analysis

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestConcurrentQueriesOfLongProgram queries one program from several goroutines. The program is so
// long that its tables are computed on demand.
func TestConcurrentQueriesOfLongProgram(t *testing.T) {
	dir := writeModules(t, 30)
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "m7.conc")
	text := programOfLines("S", 100) + "pub fn g() -> Int { common::used(1) }\n"
	ws.Open(path, text)
	if _, err := ws.Snapshot().Diagnostics(t.Context()); err != nil {
		t.Fatal(err)
	}
	ws.Change(path, strings.Replace(text, "ys.len()", "ys.len() + 1", 1))
	s := ws.Snapshot()
	if _, err := s.DiagnosticsOf(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	at := []int{strings.Index(text, "S0 {"), strings.Index(text, "|y|"), strings.Index(text, "s.a"), strings.Index(text, "used(")}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			file := filepath.Join(dir, []string{"m1.conc", "m7.conc", "m2.conc", "main.conc"}[i%4])
			for _, pos := range at[i/4:] {
				if wrong := runAllQueries(s, file, source.Pos(pos)); wrong != "" {
					t.Error(wrong)
				}
			}
		})
	}
	wg.Wait()
}
