package engine

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Eval is an @eval function of a program that was compiled with its evals (spec/49-eval.md).
type Eval struct {
	Name     string
	Function string
	File     string
	Line     int    // line of the function, from 1
	Data     string // path of the dataset as written, or the name of the function that returns the rows
	Path     string // path of the dataset; "" if a function returns the rows
	Repeat   int
	Cluster  string   // field of the row that groups cases, or ""
	Margin   *float64 // nil for the default
	Metrics  []ir.Metric
	// GateBuiltins contains the names of the built-in metrics that decide the verdict.
	GateBuiltins []string

	eval *ir.Eval
}

// Evals returns the evals of a program that was compiled with its evals, in the order of its files
// and of the functions in a file. The paths of a program without a project are relative to dir.
func (p *Program) Evals(dir string) ([]Eval, error) {
	root, err := p.base(&Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	var out []Eval
	for i := range p.ir.Evals {
		e := &p.ir.Evals[i]
		f := &p.ir.Functions[e.Function]
		x := Eval{Name: e.Name, Function: e.FunctionName, Line: f.Line, Data: e.Data, Repeat: e.Repeat, Cluster: e.Cluster, Margin: e.Margin, Metrics: e.Metrics, GateBuiltins: e.GateBuiltins, eval: e}
		if f.File >= 0 && f.File < len(p.ir.Files) {
			x.File = p.ir.Files[f.File].Name
		}
		switch {
		case e.DataFunction >= 0:
		case filepath.IsAbs(e.Data):
			x.Path = e.Data
		default:
			x.Path = filepath.Join(root, filepath.Dir(filepath.FromSlash(x.File)), filepath.FromSlash(e.Data))
		}
		out = append(out, x)
	}
	return out, nil
}

// RowTypes returns the types of the rows of evals.
func (p *Program) RowTypes(evals []Eval) ([]*value.Type, error) {
	image, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native})
	if err != nil {
		return nil, fmt.Errorf("could not load the program: %w", err)
	}
	var all []*value.Type
	for i := range evals {
		all = append(all, vm.TypeOf(image, evals[i].eval.Row))
	}
	return all, nil
}

// EvalDefaults returns [eval] of the manifest, which contains defaults of the command eval. Its Dir
// is an absolute path. Without a project, it is relative to dir.
func (p *Program) EvalDefaults(dir string) (manifest.Eval, error) {
	var d manifest.Eval
	if p.manifest != nil {
		d = p.manifest.Eval
	}
	root, err := p.base(&Options{Dir: dir})
	d.Dir = filepath.Join(root, filepath.FromSlash(cmp.Or(d.Dir, "evals")))
	return d, err
}

// Agents returns the names of the program's agents.
func (p *Program) Agents() []string {
	var names []string
	for i := range p.ir.Agents {
		names = append(names, p.ir.Agents[i].Name)
	}
	return names
}
