package analysis

import (
	"context"
	"slices"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// Implementations returns the implementations of the trait or the trait method at a position. For a
// trait these are the implementing types, for a method the implementing methods.
func (s *Snapshot) Implementations(ctx context.Context, path string, pos source.Pos) []Location {
	out := []Location{}
	f := s.checkFile(ctx, path)
	if f == nil || f.info == nil {
		return out
	}
	for _, r := range f.refsAt(pos) {
		f.res.mu.Lock()
		defs := f.res.prog.Implementations(r.Def)
		for _, d := range f.res.prog.SameMethod(r.Def) {
			if d.Node != r.Def.Node {
				defs = append(defs, d)
			}
		}
		f.res.mu.Unlock()
		for _, d := range defs {
			if d.Kind == sema.DefTrait {
				continue
			}
			if l, ok := f.res.locate(d); ok && !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}
