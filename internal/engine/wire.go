package engine

import (
	"fmt"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// recordWire starts a trace of the lines between a run and its hosts. It returns nil if to is nil.
func (p *Program) recordWire(to io.Writer) *hosttrace.Writer {
	if to == nil {
		return nil
	}
	return beginWire(to, p.MainFile())
}

// beginWire starts a trace for a program.
func beginWire(to io.Writer, program string) *hosttrace.Writer {
	began := time.Now()
	return hosttrace.NewWriter(to, hosttrace.Header{Version: hosttrace.Version, Started: began.UTC().Format(time.RFC3339), Program: program},
		func() float64 { return float64(time.Since(began).Microseconds()) / 1e6 })
}

// wireError returns the error of writing the trace, or nil.
func wireError(w *hosttrace.Writer) error {
	if w == nil || w.Err() == nil {
		return nil
	}
	return fmt.Errorf("write the trace of the hosts: %w", w.Err())
}

// MainFile returns the name of the file that contains main, or of the first file.
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
