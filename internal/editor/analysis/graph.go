package analysis

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Graph is the graph of a program.
type Graph struct {
	*graph.Graph
	snapshot *Snapshot
	result   *result
}

// Graph returns the graph of the program of a document, or nil if the document belongs to no
// program or the program does not compile. The only possible error is that of ctx.
func (s *Snapshot) Graph(ctx context.Context, path string) (*Graph, error) {
	r := s.rootOf(s.realPath(path))
	if r == nil {
		return nil, nil
	}
	var p *ir.Program
	res, err := s.runCheck(ctx, r, nil, func(in *driver.Input, _ func() bool) (*sema.Program, diag.List) {
		var found diag.List
		p, found = driver.Build(in)
		return nil, found
	})
	if err != nil || p == nil {
		return nil, err
	}
	g, err := graph.Build(p)
	if err != nil {
		panic(err) // this version has generated the code
	}
	return &Graph{g, s, res}, nil
}

// Location returns the place of a position in the graph. ok is false if it is in no file.
func (g *Graph) Location(at string) (l Location, ok bool) {
	rest, column, ok := cutNumber(at)
	name, line, isLine := cutNumber(rest)
	if !ok || !isLine {
		return l, false
	}
	f := g.snapshot.File(filepath.Join(g.result.input.Root, filepath.FromSlash(name)))
	if f == nil {
		f = g.snapshot.textOf(g.result.root).file // a document that is not on the disk
	}
	p := f.Pos(line, column)
	return Location{f, source.Span{Start: p, End: p}}, true
}

// cutNumber cuts a colon and a number from the end of a text.
func cutNumber(s string) (before string, n int, ok bool) {
	i := max(strings.LastIndexByte(s, ':'), 0)
	n, err := strconv.Atoi(strings.TrimPrefix(s[i:], ":"))
	return s[:i], n, err == nil
}
