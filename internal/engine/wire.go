package engine

import (
	"fmt"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// recordWire begins a recording of what passes between a run and its hosts; nil when
// there is nothing to write to.
func (p *Program) recordWire(to io.Writer) *hosttrace.Writer {
	if to == nil {
		return nil
	}
	return beginWire(to, p.MainFile())
}

// beginWire begins a recording now.
func beginWire(to io.Writer, program string) *hosttrace.Writer {
	began := time.Now()
	return hosttrace.NewWriter(to, hosttrace.Header{Version: hosttrace.Version, Started: began.UTC().Format(time.RFC3339), Program: program},
		func() float64 { return float64(time.Since(began).Microseconds()) / 1e6 })
}

// wireError says that a recording is not whole.
func wireError(w *hosttrace.Writer) error {
	if w == nil || w.Err() == nil {
		return nil
	}
	return fmt.Errorf("record what hosts say: %w", w.Err())
}

// MainFile is the file in which main stands, or the first one.
func (p *Program) MainFile() string {
	file := 0
	if p.ir.Entry >= 0 {
		file = p.ir.Functions[p.ir.Entry].File
	}
	if file < 0 || file >= len(p.ir.Files) {
		return ""
	}
	return p.ir.Files[file].Name
}
