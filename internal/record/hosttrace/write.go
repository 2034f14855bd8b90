package hosttrace

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// Writer writes a recording. Safe for concurrent use.
type Writer struct {
	mu    sync.Mutex
	out   io.Writer
	since func() float64
	procs map[string]int // how many processes of a host the parts have
	b     bytes.Buffer
	err   error // the first; nothing is written after it
}

// NewWriter begins a recording with its header, a Header or what holds one. since is
// the time since the run's start, in seconds.
func NewWriter(out io.Writer, header any, since func() float64) *Writer {
	w := &Writer{out: out, since: since, procs: map[string]int{}}
	w.write(header)
	return w
}

// Add writes a line that passes now.
func (w *Writer) Add(l Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(l)
}

func (w *Writer) add(l Line) {
	l.T = w.since() // under the lock, so that times never run backwards
	w.write(l)
}

// Part gives an Add for one of several runs that are recorded together: their
// processes are numbered through, in the order in which they are first heard of.
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

// Err is why the recording is not whole; nil when it is.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
