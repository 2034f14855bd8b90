package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// taped runs a program and returns its output and its tape.
func taped(t *testing.T, p *Program, o Options) (out string, tape []byte) {
	t.Helper()
	var text, record bytes.Buffer
	o.Output = Output{To: &text, Mode: emit.Modes["ndjson"]}
	o.Records.Tape = &record
	err := p.Run(t.Context(), o)
	return fmt.Sprintf("%s%v", &text, err), record.Bytes()
}

// replay replays a tape and returns the output.
func replay(t *testing.T, p *Program, tape []byte) string {
	t.Helper()
	r, err := ReadTape(bytes.NewReader(tape))
	if err != nil {
		t.Fatalf("ReadTape: %v\ntape:\n%s", err, tape)
	}
	var text bytes.Buffer
	unused, _, err := p.Replay(context.Background(), r, Options{Output: Output{To: &text, Mode: r.Mode()}})
	if len(unused) > 0 {
		t.Errorf("unused effects = %v, want none", unused)
	}
	return fmt.Sprintf("%s%v", &text, err)
}

func TestTapeRandom(t *testing.T) {
	for seed := range uint64(60) {
		g := &tangle{Rand: rand.New(rand.NewPCG(seed, 7))}
		text := g.program()
		p := compileText(t, text)
		want, tape := taped(t, p, Options{})
		for range 3 {
			if got := replay(t, p, tape); got != want {
				t.Fatalf("seed %d: program:\n%s\nrecorded output:\n%s\nreplayed output:\n%s\ntape:\n%s", seed, text, want, got, tape)
			}
		}
	}
}
