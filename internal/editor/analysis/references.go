package analysis

import (
	"cmp"
	"context"
	"slices"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// References returns the references in all programs to the name at a position, sorted by file and
// position. With includeDecl it includes the declaration.
func (s *Snapshot) References(ctx context.Context, path string, pos source.Pos, includeDecl bool) []Location {
	f := s.checkFile(ctx, path)
	if f == nil {
		return s.manifestReferences(ctx, path, pos, includeDecl)
	}
	out := []Location{}
	wanted := identities(f.refsAt(pos))
	if t := f.textAt(pos); t != nil && len(wanted) == 0 {
		out = s.textReferences(ctx, t.to)
		if includeDecl {
			out = append(out, t.to)
		}
		return sortDistinct(out)
	}
	if len(wanted) == 0 {
		return out
	}
	roots := s.rootsSharing(f, wanted)
	spelled := s.spellingOf(ctx, roots, f.refsAt(pos))
	for _, r := range roots {
		out = append(out, s.findUses(ctx, r, wanted, spelled, includeDecl)...)
	}
	for _, r := range f.refsAt(pos) {
		if l, ok := f.res.manifestLocation(r.Def); ok && includeDecl {
			out = append(out, l)
		}
		if l, ok := f.res.locate(r.Def); ok && isToolFunction(r.Def) {
			out = append(out, s.textReferences(ctx, l)...)
		}
	}
	return sortDistinct(out)
}

func identities(refs []sema.Ref) map[identity]bool {
	ids := map[identity]bool{}
	for _, r := range refs {
		ids[identityOf(r.Def)] = true
	}
	return ids
}

// rootsSharing returns the roots whose files may refer to the declarations of a file.
func (s *Snapshot) rootsSharing(f *checkedFile, wanted map[identity]bool) []*root {
	var out []*root
	for _, r := range s.roots() {
		all := r.path == f.res.root
		for id := range wanted {
			switch {
			case id.file == "": // declared in the manifest, or unknown
				all = all || r.manifest != "" && r.manifest == s.rootOf(f.path).manifest
			default:
				all = all || len(id.file) > len(stdPrefix) && id.file[:len(stdPrefix)] == stdPrefix || r.files[pathOfName(id.file)]
			}
		}
		if all {
			out = append(out, r)
		}
	}
	return out
}

// findUses returns the locations in the files of a root that refer to one of the declarations. With
// decl it includes the declarations themselves.
func (s *Snapshot) findUses(ctx context.Context, r *root, wanted map[identity]bool, spelled *spelling, decl bool) []Location {
	res, err := s.check(ctx, r)
	if err != nil {
		return nil
	}
	var out []Location
	for _, i := range res.own {
		if ctx.Err() != nil {
			return nil
		}
		for _, ref := range res.refsWithSpelling(i, spelled) {
			if wanted[identityOf(ref.Def)] && (decl || !ref.Decl) {
				out = append(out, Location{i.File.Source, ref.At})
			}
		}
	}
	return out
}

// sortDistinct sorts locations and removes duplicates.
func sortDistinct(ls []Location) []Location {
	slices.SortFunc(ls, func(a, b Location) int {
		return cmp.Or(cmp.Compare(a.File.Name, b.File.Name), cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End))
	})
	return slices.CompactFunc(ls, func(a, b Location) bool { return a.File.Name == b.File.Name && a.Span == b.Span })
}

// Highlight is an occurrence in a document of the name at a position.
type Highlight struct {
	Span  source.Span
	Write bool // the occurrence declares or assigns the name
}

// Highlights returns the occurrences in a document of the name at a position.
func (s *Snapshot) Highlights(ctx context.Context, path string, pos source.Pos) []Highlight {
	out := []Highlight{}
	f := s.checkFile(ctx, path)
	if f == nil {
		return out
	}
	wanted := identities(f.refsAt(pos))
	for _, r := range f.refs() {
		if !wanted[identityOf(r.Def)] {
			continue
		}
		h := Highlight{r.At, r.Write || r.Decl}
		if n := len(out); n > 0 && out[n-1].Span == h.Span {
			out[n-1].Write = out[n-1].Write || h.Write
			continue
		}
		out = append(out, h)
	}
	return out
}
