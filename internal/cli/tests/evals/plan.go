package evals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/runner"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// variants returns the variants that --model describes; without the flag, one without a name.
func (cmd *runCommand) variants(p *engine.Program, sampler *engine.Sampler) ([]variant, error) {
	if len(cmd.models) == 0 {
		return []variant{{}}, nil
	}
	var all []variant
	agents := p.Agents()
	for _, text := range cmd.models {
		v := variant{}
		var change engine.ModelChange
		model := text
		if name, rest, ok := strings.Cut(text, "="); ok {
			if !slices.Contains(agents, name) {
				hint := "the agents are " + strings.Join(agents, ", ")
				if near := suggest.Nearest(name, agents); near != "" {
					hint = fmt.Sprintf("did you mean %s?", near)
				}
				return nil, console.Usage(hint, "invalid value %q for --model: the program has no agent %s", text, name)
			}
			change.Agent, model = name, rest
		}
		v.name = model
		if connection, rest, ok := strings.Cut(model, ":"); ok && slices.Contains(sampler.Connections(), connection) {
			change.Connection, model = connection, rest
		}
		if change.Model = model; model == "" {
			return nil, console.Usage("write a model, such as --model small,large", "invalid value %q for --model: the model is missing", text)
		}
		v.models = []engine.ModelChange{change}
		for _, other := range all {
			if strings.EqualFold(other.name, v.name) {
				return nil, console.Usage("name each model once", "--model: the results of %s and %s would have the same file", other.name, v.name)
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// variant is a variant of all evals.
type variant struct {
	name   string
	models []engine.ModelChange
}

// plans reads the datasets and selects the cases.
func (cmd *runCommand) plans(ctx context.Context, p *engine.Program, sampler *engine.Sampler, evals []engine.Eval, variants []variant) ([]*runner.Plan, error) {
	var plans []*runner.Plan
	var known []string
	data := make([]*dataset.Dataset, len(evals))
	rowTypes, err := p.RowTypes(evals)
	if err != nil {
		return nil, err
	}
	for i := range evals {
		if data[i], err = cmd.readData(ctx, sampler, &evals[i], rowTypes[i]); err != nil {
			return nil, err
		}
		for _, c := range data[i].Cases {
			known = append(known, c.ID)
		}
	}
	chosen, err := cmd.chosenCases(known)
	if err != nil {
		return nil, err
	}
	for i, e := range evals {
		cases := data[i].Cases
		if len(cmd.cases) > 0 {
			cases = slices.DeleteFunc(slices.Clone(cases), func(c dataset.Case) bool { return !chosen[c.ID] })
			if len(cases) == 0 {
				continue
			}
		}
		repeat := e.Repeat
		if cmd.repeat > 0 {
			repeat = cmd.repeat
		}
		for _, v := range variants {
			plans = append(plans, &runner.Plan{Eval: e, Variant: v.name, Models: v.models, Source: e.Data, Dataset: data[i], Cases: dataset.Select(cases, cmd.limit, cmd.seed), Repeat: repeat})
		}
	}
	for i, x := range plans {
		for _, other := range plans[:i] {
			if strings.EqualFold(x.Stem(), other.Stem()) {
				return nil, console.Usage("rename one of the functions, or select one with --filter", "%s and %s would have the same result", planName(other), planName(x))
			}
		}
	}
	return plans, nil
}

// chosenCases returns the ids that --case names. Each of its values is an id, or ids with commas.
func (cmd *runCommand) chosenCases(known []string) (map[string]bool, error) {
	chosen := map[string]bool{}
	for _, value := range cmd.cases {
		ids := []string{value}
		if !slices.Contains(known, value) {
			ids = strings.Split(value, ",")
		}
		for _, id := range ids {
			if !slices.Contains(known, id) {
				hint := "`concerto eval show RESULT` names the cases of a result"
				if near := suggest.Nearest(id, known); near != "" {
					hint = fmt.Sprintf("did you mean %q?", near)
				}
				return nil, console.Usage(hint, "invalid value %q for --case: no dataset has this case", id)
			}
			chosen[id] = true
		}
	}
	return chosen, nil
}

// readData reads the dataset of an eval. Its errors contain no secrets.
func (cmd *runCommand) readData(ctx context.Context, sampler *engine.Sampler, e *engine.Eval, row *value.Type) (*dataset.Dataset, error) {
	data, err := cmd.readRows(ctx, sampler, e, row)
	if invalid, ok := errors.AsType[*dataset.Error](err); ok {
		for _, r := range invalid.Rows {
			r.Message = sampler.CleanText(r.Message)
		}
		return nil, newRefusal(invalid)
	}
	return data, err
}

// readRows reads the rows of an eval.
func (cmd *runCommand) readRows(ctx context.Context, sampler *engine.Sampler, e *engine.Eval, row *value.Type) (*dataset.Dataset, error) {
	if e.Path == "" {
		rows, err := sampler.Rows(ctx, e, cmd.seed, cmd.cached || cmd.dryRun)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			return nil, newRefusal(fmt.Errorf("the rows of %s are not available: %s failed: %w", e.Name, e.Data, err))
		}
		return dataset.FromRows(e.Data, rows, row, e.Cluster)
	}
	return cmd.readFile(e, row)
}

// readFile reads the rows of an eval from their file.
func (cmd *runCommand) readFile(e *engine.Eval, row *value.Type) (*dataset.Dataset, error) {
	shown := filepath.ToSlash(cmd.shown(e.Path))
	text, err := userfile.Read(e.Path, userfile.MaxRecording)
	if err != nil {
		hint := "the path is relative to " + e.File
		if !errors.Is(err, fs.ErrNotExist) {
			hint = ""
		}
		return nil, console.Usage(hint, "could not read the data of %s: %s: %v", e.Name, shown, console.Cause(err))
	}
	return dataset.Read(shown, text, row, e.Cluster, 0)
}

// baselines reads the baseline of each plan. Without --baseline, they are empty.
func (cmd *runCommand) baselines(plans []*runner.Plan) ([]summary.Side, error) {
	all := make([]summary.Side, len(plans))
	if cmd.baseline == "" {
		return all, nil
	}
	isDirectory := isDir(cmd.console, cmd.baseline)
	for i, p := range plans {
		path := cmd.baseline
		if isDirectory {
			path = filepath.Join(cmd.baseline, p.Stem()+result.Ext)
			if plain := (&runner.Plan{Eval: p.Eval}).ResultPath(cmd.baseline); p.Variant != "" && !console.IsFile(cmd.console.Abs(path)) {
				path = plain
			}
		} else if p.Eval.Name != plans[0].Eval.Name {
			return nil, console.Usage("name a directory of results, or select one eval with --filter", "--baseline %s is one result, but %s and %s run", cmd.baseline, plans[0].Eval.Name, p.Eval.Name)
		}
		for _, other := range plans {
			if console.IsSameFile(cmd.console.Abs(path), other.ResultPath(cmd.console.Abs(cmd.dir))) {
				return nil, console.Usage("copy it, or write the new result to another directory with --dir", "--baseline %s is the result that %s replaces", path, planName(other))
			}
		}
		r, err := readResult(cmd.console, path)
		if err != nil {
			return nil, newRefusal(err)
		}
		all[i] = summary.Side{Path: path, Result: r}
	}
	return all, nil
}

// summaryOptions returns the options of the report. It returns an error if a result cannot be
// compared with its baseline. clean replaces secrets.
func (cmd *runCommand) summaryOptions(plans []*runner.Plan, baselines []summary.Side, clean func(string) string) (summary.Options, error) {
	o := summary.Options{Alpha: cmd.alpha, MaxErrors: cmd.errors, Pass: cmd.pass}
	if cmd.changed("margin") {
		o.Margin = &cmd.margin
	}
	var pairs []summary.Pair
	for i, p := range plans {
		pairs = append(pairs, summary.Pair{Current: summary.Side{Path: p.ResultPath(cmd.dir), Result: p.NewResult()}, Baseline: baselines[i]})
	}
	if cmd.changed("gate") {
		o.Gate = append([]string{}, cmd.gate...)
		names := summary.Names(pairs)
		for _, name := range o.Gate {
			if err := console.OneOf("--gate", name, names); err != nil {
				return o, err
			}
		}
	}
	for i, p := range pairs {
		if p.Baseline.Result == nil {
			continue
		}
		var ids []string
		for j := range plans[i].Cases {
			ids = append(ids, runner.CaseID(&plans[i].Cases[j], clean))
		}
		if err := summary.Check(p, o, ids); err != nil {
			return o, newRefusal(err)
		}
	}
	return o, nil
}

// firstVariant returns the index of the first variant of the eval of plan i.
func (cmd *runCommand) firstVariant(plans []*runner.Plan, i int) int {
	return slices.IndexFunc(plans, func(p *runner.Plan) bool { return p.Eval.Name == plans[i].Eval.Name })
}
