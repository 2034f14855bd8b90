package hosttrace

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// Writer writes a recording. It is safe for concurrent use.
type Writer struct {
	mu    sync.Mutex
	out   io.Writer
	since func() float64
	procs map[string]int // number of processes of each host in all parts
	b     bytes.Buffer
	err   error // first error; nothing is written after it
}

// NewWriter returns a Writer and writes the header, which is a Header or a struct that contains
// one. since returns the seconds since the start of the run.
func NewWriter(out io.Writer, header any, since func() float64) *Writer {
	w := &Writer{out: out, since: since, procs: map[string]int{}}
	w.write(header)
	return w
}

// Add writes a line with the current time.
func (w *Writer) Add(l Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(l)
}

func (w *Writer) add(l Line) {
	l.T = w.since() // read while holding mu, so that the times are in order
	w.write(l)
}

// Part returns a function like Add for one of several runs in the same recording. The function
// renumbers the processes of the run, so that processes of different runs have different numbers.
func (w *Writer) Part() func(Line) {
	type process struct {
		host string
		proc int
	}
	numbers := map[process]int{}
	return func(l Line) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if p := (process{l.Host, l.Proc}); l.Proc > 0 {
			if numbers[p] == 0 {
				w.procs[l.Host]++
				numbers[p] = w.procs[l.Host]
			}
			l.Proc = numbers[p]
		}
		w.add(l)
	}
}

func (w *Writer) write(v any) {
	if w.err != nil {
		return
	}
	w.b.Reset()
	e := json.NewEncoder(&w.b)
	e.SetEscapeHTML(false)
	if w.err = e.Encode(v); w.err == nil {
		_, w.err = w.out.Write(w.b.Bytes())
	}
}

// Err returns the error because of which the recording is incomplete, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
