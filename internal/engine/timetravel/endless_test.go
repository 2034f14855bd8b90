package timetravel_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// TestEndless plays a recording that was interrupted during an endless computation. Playing must
// reach the interruption and stop there.
func TestEndless(t *testing.T) {
	const program = `fn main() {
    let n = 1;
    emit("first", n);
    loop { }
}
`
	p, found, err := engine.CompileSource(driver.Request{Inline: &driver.Inline{Name: "main.conc", Text: []byte(program)}, Dir: t.TempDir()})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tape bytes.Buffer
	o := engine.Options{Records: engine.Records{Tape: &tape}, Output: engine.Output{To: cancelling{cancel}, Mode: emit.Modes["ndjson"]}}
	if err := p.Run(ctx, o); err == nil {
		t.Fatal("the run returned no error, want the error of its cancelled context")
	}
	lines := bytes.SplitAfter(tape.Bytes(), []byte("\n"))
	for i, line := range lines { // remove the lines after the emit, as if the process had crashed
		if i > 0 && bytes.Contains(line, []byte(`"emit"`)) {
			lines = lines[:i+1]
			break
		}
	}
	s, err := timetravel.Tape(bytes.NewReader(bytes.Join(lines, nil)), p.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Play(context.Background(), 0)
	if err != nil || len(r.Effects) != 1 {
		t.Fatal(r, err)
	}
	look := r.Look()
	defer look.Close()
	if err := look.ToEffect(2); err != nil || !look.Ended {
		t.Error(position(t, look), err)
	}
	if err := look.ToLine(1_000); err != nil || look.Lines != 1_000 {
		t.Error(position(t, look), err)
	}
}

// cancelling is an output writer that cancels the run's context at the first write.
type cancelling struct{ cancel func() }

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}
