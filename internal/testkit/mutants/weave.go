package mutants

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Environment variables of a test binary with mutants.
const (
	activeVar  = "MUTANT"         // contains the number of the active mutant
	reachedVar = "MUTANT_REACHED" // contains the path of the file that records the reached mutants
)

// switchFile is a source file that reports whether a mutant is active. It can also record each
// reached mutant once.
const switchFile = `package %s

import (
	"%s"
)

var (
	mutantNotes = os.Getenv("` + reachedVar + `")
	mutantSeen  sync.Map
	mutantIs    = func() int {
		n, _ := strconv.Atoi(os.Getenv("` + activeVar + `"))
		if mutantNotes != "" {
			n = -1
		}
		return n
	}()
)

func mutantOn(n int) bool { return mutantIs == n || mutantIs < 0 && mutantNote(n) }

func mutantNote(n int) bool {
	if _, old := mutantSeen.LoadOrStore(n, true); old {
		return false
	}
	f, err := os.OpenFile(mutantNotes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, n); err != nil {
		panic(err)
	}
	return false
}
`

// switchImports lists the imports of switchFile.
var switchImports = []string{"fmt", "os", "strconv", "sync"}

// place is the position of a mutant in a changed file.
type place struct {
	m        *Mutant
	from, to int
}

// weave inserts mutants into the package's files; no two of them may change the same text. It
// returns the files and the mutants that compile. Mutants are numbered from 1.
func (c *code) weave(mutants []*Mutant) (map[string][]byte, []*Mutant, error) {
	for {
		out, places := c.insert(mutants)
		bad, err := c.uncompilable(out, places)
		if err != nil {
			return nil, nil, err
		}
		if len(bad) == 0 {
			return out, mutants, nil
		}
		mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *Mutant) bool { return bad[m] })
	}
}

func (c *code) insert(mutants []*Mutant) (map[string][]byte, map[string][]place) {
	out, places := map[string][]byte{}, map[string][]place{}
	for path, f := range c.files {
		var b bytes.Buffer
		at := 0
		for i, m := range mutants {
			if m.File != path {
				continue
			}
			b.Write(f.text[at:m.start])
			from := b.Len()
			fmt.Fprintf(&b, m.woven, i+1)
			places[path] = append(places[path], place{m, from, b.Len()})
			at = m.end
		}
		if at > 0 {
			b.Write(f.text[at:])
			out[path] = b.Bytes()
		}
	}
	for _, f := range c.files {
		out[filepath.Join(c.dir, "mutants_switch.go")] = fmt.Appendf(nil, switchFile, f.tree.Name.Name, strings.Join(switchImports, "\"\n\t\""))
		break
	}
	return out, places
}

// uncompilable returns the mutants that do not compile.
func (c *code) uncompilable(woven map[string][]byte, places map[string][]place) (map[*Mutant]bool, error) {
	fset := token.NewFileSet()
	var trees []*ast.File
	for path := range c.files {
		if woven[path] == nil {
			woven := c.files[path].text
			f, err := parser.ParseFile(fset, path, woven, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			trees = append(trees, f)
		}
	}
	for path, text := range woven {
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse the changed files: %w", err)
		}
		trees = append(trees, f)
	}
	bad := map[*Mutant]bool{}
	var err error
	c.check(fset, trees, nil, func(e types.Error) {
		if e.Soft && len(bad) > 0 {
			return
		}
		at := fset.Position(e.Pos)
		i := slices.IndexFunc(places[at.Filename], func(p place) bool { return p.from <= at.Offset && at.Offset < p.to })
		if i < 0 {
			// The compiler reports a missing return at the end of the function.
			i = lastBefore(places[at.Filename], at.Offset)
		}
		if i < 0 {
			err = e
			return
		}
		bad[places[at.Filename][i].m] = true
	})
	return bad, err
}

// lastBefore returns the index of the last place that ends before an offset, or -1.
func lastBefore(places []place, offset int) int {
	out := -1
	for i, p := range places {
		if p.to <= offset {
			out = i
		}
	}
	return out
}
