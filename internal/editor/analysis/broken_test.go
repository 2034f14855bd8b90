package analysis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// runAllQueries runs every query at a position. It describes the invalid results, or returns "" if
// there are none.
func runAllQueries(s *Snapshot, path string, pos source.Pos) (wrong string) {
	ctx := context.Background()
	fits := func(f *source.File, sp source.Span) {
		if f == nil || sp.Start < 0 || sp.Start > sp.End || int(sp.End) > len(f.Text) {
			wrong += fmt.Sprintf("a place that is none: %v; ", sp)
		}
	}
	lists := [][]Location{s.Definition(ctx, path, pos), s.TypeDefinition(ctx, path, pos), s.References(ctx, path, pos, true), s.Implementations(ctx, path, pos)}
	for i, ls := range lists {
		if ls == nil {
			wrong += fmt.Sprintf("list %d is nil; ", i)
		}
		for _, l := range ls {
			fits(l.File, l.Span)
		}
	}
	f := s.File(path)
	if h := s.Hover(ctx, path, pos); h != nil {
		fits(f, h.Span)
	}
	c := s.Completion(ctx, path, pos)
	fits(f, c.Replace)
	if c.Items == nil {
		wrong += "no items; "
	}
	for i := range c.Items {
		if i%7 == int(pos)%7 {
			c.Items[i].Doc()
		}
	}
	if g := s.Signature(ctx, path, pos); g != nil && g.Active >= len(g.Params) {
		wrong += "no such parameter; "
	}
	end := source.Pos(-1)
	for _, x := range s.Tokens(ctx, path) {
		fits(f, x.Span)
		if x.Span.Start < end {
			wrong += fmt.Sprintf("tokens overlap at %d; ", end)
		}
		end = x.Span.End
	}
	for _, x := range s.Inlays(ctx, path, source.Span{Start: pos - 50, End: pos + 50}) {
		fits(f, source.Span{Start: x.At, End: x.At})
	}
	for _, x := range s.Folds(path) {
		fits(f, x.Span)
	}
	for i, all := 0, s.Selections(path, pos); i < len(all); i++ {
		if fits(f, all[i]); i > 0 && !all[i].Contains(all[i-1]) {
			wrong += "a selection is not within the next; "
		}
	}
	for _, x := range s.Links(ctx, path) {
		fits(f, x.Span)
	}
	if s.Incoming(ctx, path, pos) == nil || s.Outgoing(ctx, path, pos) == nil {
		wrong += "no calls; "
	}
	if int(pos)%97 == 0 {
		if r, err := s.Rename(ctx, path, pos, "fresh_name"); err == nil {
			for _, e := range r.Edits {
				fits(e.File, e.Span)
			}
		}
	}
	hs := s.Highlights(ctx, path, pos)
	if hs == nil {
		wrong += "no highlights; "
	}
	for _, h := range hs {
		fits(f, h.Span)
	}
	return wrong
}

// corpus returns the sorted paths of the example programs and the texts by path.
func corpus(t *testing.T) (paths []string, texts map[string]string) {
	t.Helper()
	found, err := filepath.Glob("../../../examples/*/*.conc")
	if err != nil || len(found) < 8 {
		t.Fatal(found, err)
	}
	texts = map[string]string{}
	for _, p := range found {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = filepath.Abs(p); err != nil {
			t.Fatal(err)
		}
		paths, texts[p] = append(paths, p), string(text)
	}
	return paths, texts
}

// TestQueriesAtEveryPosition runs every query at positions all over complete, truncated and mixed
// programs. All results must be valid.
func TestQueriesAtEveryPosition(t *testing.T) {
	paths, texts := corpus(t)
	made := func(seed uint64) (path, text string) {
		r := rand.New(rand.NewPCG(seed, 7))
		path = paths[r.IntN(len(paths))]
		text = texts[path]
		toks, _, _ := lexer.Lex(source.NewFile("", []byte(text)))
		at := func(n int) int { return int(toks[n%len(toks)].Start) }
		i := r.IntN(len(toks))
		switch r.IntN(4) {
		case 0: // the complete text
		case 1: // the text ends early
			text = text[:at(i)]
		case 2: // some tokens are missing
			j := min(i+1+r.IntN(12), len(toks)-1)
			text = text[:at(i)] + text[at(j):]
		default: // a part of another program is inserted
			other := texts[paths[r.IntN(len(paths))]]
			from := r.IntN(len(other))
			text = text[:at(i)] + other[from:min(from+r.IntN(200), len(other))] + text[at(i):]
		}
		return path, text
	}
	show := func(seed uint64) string { _, text := made(seed); return text }
	ask := func(t *testing.T, ws *Workspace, seed uint64) {
		path, text := made(seed)
		ws.Open(path, text)
		s := ws.Snapshot()
		step := max(1, len(text)/40)
		for pos := int(seed) % step; pos <= len(text); pos += step {
			if wrong := runAllQueries(s, path, source.Pos(pos)); wrong != "" {
				t.Fatalf("invalid results at offset %d: %s", pos, wrong)
			}
		}
		ws.Close(path)
	}
	ws := New(Options{})
	randtest.Run(t, "internal/editor/analysis", 60, show, func(t *testing.T, seed uint64) { ask(t, ws, seed) })
}

// TestQueriesAtInvalidPositions checks that queries at a position outside the text, and queries of
// a missing document, return results.
func TestQueriesAtInvalidPositions(t *testing.T) {
	dir := writeTree(t, project)
	s := New(Options{Folders: []string{dir}}).Snapshot()
	for _, path := range append(s.Files(), "/nowhere/x.conc", "untitled:1", "") {
		for _, pos := range []source.Pos{-5, 0, 3, 1 << 20} {
			if f := s.File(path); f == nil {
				if got := s.Definition(context.Background(), path, pos); got == nil || len(got) > 0 {
					t.Errorf("results for the path %q = %v, want none", path, got)
				}
				continue
			}
			if wrong := runAllQueries(s, path, pos); wrong != "" {
				t.Errorf("invalid results of %s at offset %d: %s", path, pos, wrong)
			}
		}
	}
}

// TestConcurrentQueries checks that several goroutines can query one snapshot at the same time.
func TestConcurrentQueries(t *testing.T) {
	paths, texts := corpus(t)
	ws := New(Options{Folders: []string{filepath.Dir(filepath.Dir(paths[0]))}})
	s := ws.Snapshot()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			path := paths[i%2]
			for pos := i; pos < len(texts[path]); pos += len(texts[path])/6 + 1 {
				if wrong := runAllQueries(s, path, source.Pos(pos)); wrong != "" {
					t.Error(wrong)
				}
			}
		})
	}
	wg.Wait()
}
