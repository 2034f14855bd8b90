package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
)

// tracer is held while a trace is recorded, because the browser supports only one trace at a time.
var tracer sync.Mutex

// trace collects the browser's trace events.
type trace struct {
	events []traceEvent
	done   chan struct{}
}

// traceEvent is an event of Chromium's trace. Times are in microseconds.
type traceEvent struct {
	Name string  `json:"name"`
	Pid  int     `json:"pid"`
	Tid  int     `json:"tid"`
	CPU  float64 `json:"tdur"` // CPU time of the thread
	Wall float64 `json:"dur"`
}

func (tr *trace) handle(event any) {
	switch e := event.(type) {
	case *tracing.EventDataCollected:
		for _, v := range e.Value {
			var x traceEvent
			if json.Unmarshal(v, &x) == nil {
				tr.events = append(tr.events, x)
			}
		}
	case *tracing.EventTracingComplete:
		if tr.done != nil {
			close(tr.done)
			tr.done = nil
		}
	}
}

// Tasks calls do and returns the CPU time of each task on the page's main thread that took longer
// than least. CPU time is used because a busy machine increases it far less than wall time. On a
// virtual machine, the reported CPU time may exceed the wall time. In that case Tasks uses the wall
// time.
func (b *Tab) Tasks(least time.Duration, do func()) []time.Duration {
	b.t.Helper()
	tracer.Lock()
	defer tracer.Unlock()
	done := make(chan struct{})
	b.watch.mu.Lock()
	b.watch.trace = trace{done: done}
	b.watch.mu.Unlock()
	call(b, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{
		IncludedCategories: []string{"toplevel", "blink.user_timing"},
	}})
	// the mark identifies the page's thread among all threads
	mark := "void performance.mark(" + quote(fmt.Sprintf("concerto %p", done)) + ")"
	b.Eval(mark)
	do()
	b.Eval(mark)
	call(b, tracing.End, cdp.Empty{})
	select {
	case <-done:
	case <-time.After(patience):
		b.t.Fatal("the browser did not finish its trace")
	}
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	long, found := longer(b.watch.trace.events, fmt.Sprintf("concerto %p", done), least)
	if !found {
		b.t.Fatalf("the browser's trace, of %d events, contains no event of the page", len(b.watch.trace.events))
	}
	return long
}

// longer returns the durations of the long tasks on the thread that set the mark. It returns false
// if no thread set it.
func longer(events []traceEvent, mark string, least time.Duration) ([]time.Duration, bool) {
	i := slices.IndexFunc(events, func(e traceEvent) bool { return e.Name == mark })
	if i < 0 {
		return nil, false
	}
	own := events[i]
	var out []time.Duration
	for _, e := range events {
		took := time.Duration(min(e.CPU, e.Wall)) * time.Microsecond
		if e.Pid == own.Pid && e.Tid == own.Tid && e.Name == "ThreadControllerImpl::RunTask" && took > least {
			out = append(out, took)
		}
	}
	return out, true
}
