package evals

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
)

// listedEval is an eval as --list --format json prints it.
type listedEval struct {
	Name     string   `json:"name"`
	Function string   `json:"function"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Data     string   `json:"data"`
	Repeat   int      `json:"repeat"`
	Metrics  []string `json:"metrics"`
	Cases    *int     `json:"cases,omitempty"`
}

// listEvals lists the evals and their places, one per line or as a JSON array.
func (cmd *runCommand) listEvals(p *engine.Program, evals []engine.Eval) error {
	rowTypes, err := p.RowTypes(evals)
	if err != nil {
		return err
	}
	list := []listedEval{}
	for i, e := range evals {
		x := listedEval{Name: e.Name, Function: e.Function, File: e.File, Line: e.Line, Data: e.Data, Repeat: e.Repeat, Metrics: []string{}}
		for _, m := range e.Metrics {
			x.Metrics = append(x.Metrics, m.Name)
		}
		if e.Path != "" {
			if data, err := cmd.readFile(&e, rowTypes[i]); err == nil { // running the eval reports the error
				n := len(data.Cases)
				x.Cases = &n
			}
		}
		list = append(list, x)
	}
	if cmd.format.String() == "json" {
		return printed(cmd.console.WriteJSON(list))
	}
	for _, x := range list {
		cases := ""
		if x.Cases != nil {
			cases = ", " + console.Count(*x.Cases, "case")
		}
		if _, err := fmt.Fprintf(cmd.console.Stdout, "%s:%d: %s (%s%s)\n", x.File, x.Line, x.Name, x.Data, cases); err != nil {
			return printed(err)
		}
	}
	return nil
}
