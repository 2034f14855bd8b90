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

// The environment's variables that a woven test reads.
const (
	activeVar  = "MUTANT"         // the number of the mutant to be
	reachedVar = "MUTANT_REACHED" // or the file where the numbers are noted that were asked for
)

// switchFile is a source file that says whether a mutant is switched on. It can
// also note each mutant that is reached, once.
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

// switchImports are the packages that it needs.
var switchImports = []string{"fmt", "os", "strconv", "sync"}

// place is where a mutant stands in a woven file.
type place struct {
	m        *Mutant
	from, to int
}

// weave puts mutants, of which no two change the same text, into the package's
// files. It gives the files and the mutants without those that do not compile.
// Mutants are numbered from 1.
func (c *code) weave(mutants []*Mutant) (map[string][]byte, []*Mutant, error) {
	for {
		out, places := c.written(mutants)
		bad, err := c.refused(out, places)
		if err != nil {
			return nil, nil, err
		}
		if len(bad) == 0 {
			return out, mutants, nil
		}
		mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *Mutant) bool { return bad[m] })
	}
}

func (c *code) written(mutants []*Mutant) (map[string][]byte, map[string][]place) {
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

// refused gives the mutants that the compiler would not take.
func (c *code) refused(woven map[string][]byte, places map[string][]place) (map[*Mutant]bool, error) {
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
			return nil, fmt.Errorf("what is woven cannot be read: %w", err)
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
			// A function that ends without a return is told at its end.
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

// lastBefore is the last place that ends before an offset, -1 without one.
func lastBefore(places []place, offset int) int {
	out := -1
	for i, p := range places {
		if p.to <= offset {
			out = i
		}
	}
	return out
}
