package locate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// Printer prints the output of a run line by line.
type Printer struct {
	sink *emit.Sink
	next int64 // number of the next line
}

// NewPrinter returns a Printer that starts with line number from. events receives the events of the
// runtime (see emit.Options); nil prints them like the rest.
func NewPrinter(a *console.Console, mode emit.Mode, from int64, events func(channel, line string)) *Printer {
	return &Printer{sink: emit.New(emit.Options{Mode: mode, Out: a.Stdout, Terminal: a.TTY.Out, Events: events}), next: from}
}

// batch is the number of lines that Write reads at once from an engine.
const batch = 1000

// Write prints the lines that the run has written since the last call. The error is that of the
// store, or emit.ErrNoReader.
func (p *Printer) Write(ctx context.Context, run *Run) error {
	for {
		lines, err := p.read(ctx, run)
		if err != nil {
			return err
		}
		for _, text := range lines {
			if err := p.print(ctx, text); err != nil {
				return err
			}
		}
		if len(lines) < batch {
			return p.sink.Flush(ctx)
		}
	}
}

func (p *Printer) read(ctx context.Context, run *Run) ([]string, error) {
	if run.Engine != nil {
		return run.Engine.Output(ctx, run.ID, p.next, batch)
	}
	lines, _, err := run.Journal().Out()
	first := min(int(p.next)-1, len(lines))
	return lines[first:min(first+batch, len(lines))], err
}

func (p *Printer) print(ctx context.Context, text string) error {
	var line durable.OutputLine
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		return fmt.Errorf("line %d of the output: %w", p.next, err)
	}
	p.next = line.N + 1
	var r effect.Request = &effect.Emit{Channel: line.Channel, Payload: line.Payload}
	if printed := ""; line.Channel == durable.PrintChannel && json.Unmarshal(line.Payload, &printed) == nil {
		r = &effect.Print{Text: printed, Newline: true}
	}
	_, err := p.sink.Perform(effect.WithOutput(ctx, line.N), r)
	return err
}
