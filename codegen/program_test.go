package codegen_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/ir"
)

// TestPrograms compiles and runs the archives in testdata. Section main.conc is the program. The
// optional section asm is the code of the program's functions. Section out contains the program's
// events, output and messages, and its error, if any. Section host contains the messages of a host,
// one per line; a line `---` separates exchanges. Each program runs directly after generation,
// after encoding and decoding, and with AlwaysCopy, which makes the machine copy a container at
// each change. The results must be the same.
func TestPrograms(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "*.txtar"), func(t *testing.T, a *golden.Archive) {
		p := compiletest.Compile(t, a.Input("main.conc"))
		if a.Has("asm") {
			a.Check("asm", compiletest.Assembly(p))
		}
		var script string
		if a.Has("host") {
			script = a.Input("host")
		}
		if p.Entry < 0 {
			return
		}
		out := run(t, p, script, false)
		a.Check("out", out)
		if copied := run(t, p, script, true); copied != out {
			t.Errorf("with AlwaysCopy the program prints different output:\n%s", copied)
		}
		decoded, err := ir.Decode(ir.Encode(p))
		if err != nil {
			t.Fatal(err)
		}
		if err := ir.Verify(decoded); err != nil {
			t.Fatal(err)
		}
		if got := run(t, decoded, script, false); got != out {
			t.Errorf("after encoding and decoding the program prints different output:\n%s", got)
		}
	})
}

// run runs a program and returns its effects and its error, one per line. The script contains the
// messages of the host.
func run(t *testing.T, p *ir.Program, script string, copies bool) string {
	t.Helper()
	w := &world{}
	for _, part := range strings.Split(script, "---\n") {
		w.script = append(w.script, strings.Split(strings.TrimSuffix(part, "\n"), "\n"))
	}
	_, failed, err := compiletest.Run(context.Background(), compiletest.Config(p, w, copies))
	if err != nil {
		t.Fatal(err)
	}
	w.out.WriteString(compiletest.Failure(failed) + compiletest.Trace(failed))
	return w.out.String()
}

// world performs the effects of a program and plays one host.
type world struct {
	out    strings.Builder
	script [][]string // messages of each exchange
	opened int
}

func (w *world) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Print:
		fmt.Fprintf(&w.out, "%s\n", r.Text)
	case *effect.Step:
		return nil, nil
	case *effect.Log:
		fmt.Fprintf(&w.out, "log %s: %s\n", r.Level, r.Message)
	case *effect.Emit:
		fmt.Fprintf(&w.out, "[%s] %s\n", r.Channel, r.Payload)
	case *effect.AwaitEmit:
		fmt.Fprintf(&w.out, "[%s]? %s\n", r.Channel, r.Payload)
		return answer(r)
	case *effect.Sleep:
	case *effect.Clock:
		return &effect.Time{Unix: 1_772_357_400_250, Monotonic: 5}, nil
	case *effect.ExchangeOpen:
		fmt.Fprintf(&w.out, "> prompt %q context %s schema %s\n", r.Prompt, r.Context, r.Schema)
		w.opened++
		return &effect.ExchangeOpened{ID: int64(w.opened - 1)}, nil
	case *effect.ExchangeNext:
		return w.next(int(r.ID))
	case *effect.ExchangeReply:
		fmt.Fprintf(&w.out, "> %s %s%s\n", r.InReplyTo, r.Value, r.Error)
	case *effect.ExchangeClose:
		if r.Reason != "" {
			fmt.Fprintf(&w.out, "> cancel %s\n", r.Reason)
		}
	default:
		return nil, fmt.Errorf("%w %T", errTestRefused, r)
	}
	return nil, nil
}

// errTestRefused is the error for an effect that the tests do not support.
var errTestRefused = errors.New("the test performs no")

// answer returns the payload of an awaited emit as its answer. One channel of the test programs has
// no handler, and answer returns the corresponding error for it.
func answer(r *effect.AwaitEmit) (effect.Result, error) {
	if r.Channel == "nobody" {
		return nil, effect.Errorf("EmitError", "nobody answers").With("channel", r.Channel).With("reason", "no_listener")
	}
	payload := r.Payload
	if payload == nil {
		payload = []byte("null")
	}
	return &effect.Answer{Value: payload}, nil
}

// next returns the next message of the exchange id.
func (w *world) next(id int) (effect.Result, error) {
	if id >= len(w.script) || len(w.script[id]) == 0 || w.script[id][0] == "" {
		return nil, effect.Errorf("HostError", "host exited without result").With("host", "Worker")
	}
	line := w.script[id][0]
	w.script[id] = w.script[id][1:]
	typ, mid, payload, err := value.ParseMessage([]byte(line))
	if err != nil {
		return nil, err
	}
	return &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, ID: string(mid), Payload: payload, Text: []byte(line)}}}, nil
}

// TestDeterminism checks that generating a program twice produces the same bytes.
func TestDeterminism(t *testing.T) {
	golden.Run(t, filepath.Join("testdata", "*.txtar"), func(t *testing.T, a *golden.Archive) {
		text := a.Input("main.conc")
		if x, y := ir.Encode(compiletest.Compile(t, text)), ir.Encode(compiletest.Compile(t, text)); string(x) != string(y) {
			t.Error("two generations of the same program differ")
		}
	})
}
