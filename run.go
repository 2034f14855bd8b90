package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	_ "time/tzdata" // for machines and containers without time zones

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// Result contains the result of a run and the usage of models.
type Result struct {
	// RunID identifies the run.
	RunID string
	// Value is the result of main as JSON. It is nil if the run failed.
	Value json.RawMessage
	// Usage is what all models and hosts have used. Calls are those of models.
	Usage Usage
	// UsageByModel has an entry for each model of each connection that was used.
	UsageByModel []Usage
	// UsageByAgent has an entry for each agent that was called.
	UsageByAgent []Usage
	// Questions contains the questions for which a suspended run waits.
	Questions []Question
	// Unused contains the kinds of effects in a tape that the replayed program did not request.
	Unused []string
}

// Usage is what models, or models and hosts, have used.
type Usage struct {
	// Agent is the name of the agent. It is set in Result.UsageByAgent.
	Agent string
	// Connection and Model identify the model. They are set in Result.UsageByModel.
	Connection, Model string
	// Calls is the number of calls, and Failed the number of those that failed.
	Calls, Failed int64
	// TokensIn and TokensOut are the numbers of tokens that the providers reported.
	TokensIn, TokensOut int64
	// CostUSD is the cost in US dollars. Models without a known price count as 0.
	CostUSD float64
	// Priced is set if the prices of all used models are known.
	Priced bool
}

func usage(u models.Sum) Usage {
	return Usage{Calls: u.Calls, Failed: u.FailedCalls, TokensIn: u.TokensIn, TokensOut: u.TokensOut, CostUSD: budget.Money(u.Cost).USD(), Priced: u.Unpriced == 0}
}

// Run executes the program's main function until it returns, ctx ends, or a limit is reached. When
// Run returns, all processes and goroutines of the run have ended. The manifest's max_memory_mb
// applies to the heap of the whole process.
//
// The Result is never nil. After an error it contains the usage until then. The error is an *Error,
// such as ErrProgram if the program failed, or the cause of the end of ctx.
func (p *Program) Run(ctx context.Context, o Options) (*Result, error) {
	if o.Durable != nil && o.Durable.Dir == "" {
		return &Result{}, &Error{Message: "Options.Durable.Dir is empty: set it to the directory in which the run is stored"}
	}
	if err := p.checkHosts(&o); err != nil {
		return &Result{}, err
	}
	return o.run(ctx, p.limit, p.engine.Run)
}

// Call calls a public function of the program's main file instead of main. args has a JSON form
// that is an object: the arguments by the names of the parameters, for example a struct or a map.
// nil means no arguments. Call is otherwise like Run. Its additional error is ErrNotCallable, if
// there is no such function, or if the arguments do not fit; no code of the program has then run. A
// program from LoadIR has no functions that can be called. Options.Durable, Records.Tape and
// Records.Profile are not supported.
func (p *Program) Call(ctx context.Context, function string, args any, o Options) (*Result, error) {
	if p.callable == nil {
		return &Result{}, &Error{Kind: ErrNotCallable, Message: "the function `" + function + "` cannot be called: the program comes from LoadIR. Use Load, LoadFS or LoadSource"}
	}
	if o.Durable != nil || o.Records.Tape != nil || o.Records.Profile != nil {
		return &Result{}, &Error{Message: "Options.Durable, Records.Tape and Records.Profile are only for Run"}
	}
	if err := p.checkHosts(&o); err != nil {
		return &Result{}, err
	}
	q, err := p.callable()
	if err != nil {
		return &Result{}, err
	}
	text := []byte("{}")
	if args != nil {
		if text, err = json.Marshal(args); err != nil {
			return &Result{}, convert(fmt.Errorf("encode the arguments of %s: %w", function, err))
		}
	}
	return o.run(ctx, p.limit, func(ctx context.Context, o engine.Options) error {
		return engine.CallFunction(ctx, q, o, function, text)
	})
}

// As decodes the value of a result, for example into a struct whose fields have JSON names.
func As[T any](r *Result) (T, error) {
	var v T
	if r.Value == nil {
		return v, &Error{Message: "the run has no result: it failed, or was suspended"}
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return v, convert(fmt.Errorf("decode the result: %w", err))
	}
	return v, nil
}

// Replay executes the program with the recorded results of a run. It performs no effects outside of
// the program, and uses the clock of the recording. Replay uses only the following options: Output,
// Env (for secrets, which a tape does not contain) and Log. The errors are those of Run,
// and ErrDiverged if the program makes a request that the tape does not contain.
func (p *Program) Replay(ctx context.Context, t *Tape, o Options) (*Result, error) {
	var unused []string
	r, err := o.run(ctx, p.limit, func(ctx context.Context, o engine.Options) (err error) {
		unused, _, err = p.engine.Replay(ctx, t.tape, o)
		return err
	})
	r.RunID, r.Unused = t.tape.Run(), unused
	return r, err
}

// run calls do with the engine's options, and collects the result of the run.
func (o *Options) run(ctx context.Context, limit engine.Limit, do func(context.Context, engine.Options) error) (*Result, error) {
	r := &Result{}
	x, err := o.engine(limit)
	if err != nil {
		return r, err
	}
	release, err := o.Records.open(&x)
	if err != nil {
		return r, convert(err)
	}
	x.Service.Began = func(run engine.Running) { r.RunID = run.ID }
	x.Service.Ended = func(value json.RawMessage) { r.Value = value }
	x.Records.Shares = true
	x.Records.OnUsage = func(used *engine.Used) {
		r.Usage = usage(used.All)
		for _, m := range used.Models {
			u := usage(m.Sum)
			u.Connection, u.Model = m.Connection, m.Model
			r.UsageByModel = append(r.UsageByModel, u)
		}
		for _, a := range used.Shares.Agents {
			u := usage(a.Sum)
			u.Agent = a.Agent
			r.UsageByAgent = append(r.UsageByAgent, u)
		}
	}
	err = do(ctx, x)
	if closed := release(); err == nil {
		err = closed
	}
	suspended, left := errors.AsType[*engine.Suspended](err)
	if left {
		r.RunID = suspended.Run
		if shown, err := runs.Show(rundir.At(suspended.Dir)); err == nil { // otherwise OpenRun has the reason
			r.Questions = newStoredRun(shown).Questions
		}
	}
	if err != nil && ctx.Err() != nil && !left && errors.Is(err, context.Cause(ctx)) {
		return r, err
	}
	return r, convert(err)
}
