package runs

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/prompt"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// run is a run on a terminal.
type run struct {
	meta
	id     string
	dir    string
	m      *Manager
	client *ptyholder.Client

	// promptMu is held while output is committed, and while a prompt is detected and submitted. A
	// prompt is therefore not submitted after later output.
	promptMu sync.Mutex
	tail     []byte // the end of the output, in which prompts are detected
	partial  []byte // an incomplete character at the end of the output, which is not committed yet

	mu            sync.Mutex
	off           int64 // offset in the raw log up to which output is committed
	stopScan      func() bool
	prompt        string // id of the last request for a prompt of the terminal
	awaitingInput bool   // run.awaiting_input was sent
	ended         bool   // the run has ended, so startWork returns false
	busy          sync.WaitGroup
	writing       map[string]chan struct{} // inputs that are being written, by id; the channel is closed afterwards
	feed
}

// feed contains what the followers of a run read.
type feed struct {
	placed       []placedEvent // the latest events other than output
	placedBytes  int           // total size of the events in placed, in bytes
	dropped      int           // number of events that were removed from placed
	changed      chan struct{} // closed and replaced when the feed changes
	endCommitted bool          // the end of the run is committed
	followers    int
}

// placedEvent is an event with the offset in the output at which it occurred.
type placedEvent struct {
	at int64
	protocol.Envelope
}

// Limits on the events that are retained for followers.
const (
	maxPlaced      = 1000
	maxPlacedBytes = 4 << 20
)

func (m *Manager) attach(id, dir string, of meta, off int64) (*run, error) {
	c, err := ptyholder.Attach(dir, off)
	if err != nil {
		return nil, err
	}
	r := &run{meta: of, id: id, dir: dir, m: m, client: c, off: off, writing: map[string]chan struct{}{}, feed: feed{changed: make(chan struct{})}}
	r.tail = make([]byte, min(off, prompt.Tail))
	n, _, err := ptyholder.ReadLog(dir, off-int64(len(r.tail)), r.tail)
	if r.tail = r.tail[:n]; err != nil && !errors.Is(err, io.EOF) {
		c.Close()
		return nil, err
	}
	r.publish([]spool.Event{{Type: protocol.RunStarted, Data: of.Started}})
	r.placed[0].at = 0
	m.mu.Lock()
	m.runs[id] = r
	m.mu.Unlock()
	return r, nil
}

// restoreEnded restores a run whose end is committed.
func (r *run) restoreEnded() {
	r.client.Close()
	exit, _ := r.client.End()
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.publish([]spool.Event{exitEvent(exit)})
	r.mu.Lock()
	r.endCommitted = true
	r.mu.Unlock()
	r.m.addEnded(r)
}

func exitEvent(e ptyholder.Exit) spool.Event {
	return spool.Event{Type: protocol.RunExited, Data: protocol.Exited{ExitCode: e.Code, Signal: e.Signal, Reason: e.Reason}}
}

func (r *run) status() protocol.Status {
	open := len(r.m.o.Approvals.Open(r.id)) > 0
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return protocol.StatusExited
	case open:
		return protocol.StatusAwaitingApproval
	case r.awaitingInput:
		return protocol.StatusAwaitingInput
	}
	return protocol.StatusRunning
}

// startWork registers an operation for which the end of the run must wait. It returns false if the
// run has ended.
func (r *run) startWork() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.busy.Add(1)
	return true
}

// commit commits a change of the run and adds its events to the feed.
func (r *run) commit(ctx context.Context, c spool.Change) error {
	c.Run = r.id
	if _, err := r.m.o.Spool.Commit(ctx, c); err != nil {
		return err
	}
	r.publish(c.Events)
	return nil
}

func (r *run) publish(events []spool.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if e.Type == protocol.RunOutput {
			continue
		}
		env := protocol.New(e.Type, time.Now(), e.Data)
		env.RunID = r.id
		r.placed, r.placedBytes = append(r.placed, placedEvent{r.off, env}), r.placedBytes+len(env.Data)
		for len(r.placed) > maxPlaced || r.placedBytes > maxPlacedBytes && len(r.placed) > 1 {
			r.placedBytes -= len(r.placed[0].Data)
			r.placed = r.placed[1:] // reslice, because followers may still read the old array
			r.dropped++
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// followOutput commits the output of the run, and then its end.
func (r *run) followOutput() {
	defer r.client.Close()
	r.scheduleScan() // the prompt may have been displayed before a restart of hostd
	b := make([]byte, 32<<10)
	for {
		r.mu.Lock()
		off := r.off
		r.mu.Unlock()
		want := off + int64(len(r.partial))
		n, at, err := r.client.Read(r.m.ctx, want, b)
		switch {
		case r.m.ctx.Err() != nil:
			return
		case errors.Is(err, io.EOF):
			if err = r.emitOutput(nil, true); err == nil {
				err = r.finish()
			}
			r.logError(err)
			return
		case err != nil:
			r.m.o.Log.Error("could not read the log of a run", "run", r.id, "error", err)
			if !sleep(r.m.ctx, time.Second) {
				return
			}
			continue
		case at > want:
			r.m.o.Log.Warn("output was dropped before it could be sent", "run", r.id, "from", want, "to", at)
			r.skipTo(at)
		}
		if err := r.emitOutput(b[:n], false); err != nil {
			r.logError(err)
			return
		}
	}
}

func (r *run) logError(err error) {
	if err != nil && r.m.ctx.Err() == nil && !errors.Is(err, spool.ErrClosed) {
		r.m.o.Log.Error("could not report events of a run; its later events are lost", "run", r.id, "error", err)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *run) skipTo(at int64) {
	r.mu.Lock()
	r.off = at
	r.mu.Unlock()
	r.partial = nil
}

// emitOutput commits output. last reports whether the output ends with b.
func (r *run) emitOutput(b []byte, last bool) error {
	r.promptMu.Lock()
	defer r.promptMu.Unlock()
	b = append(r.partial, b...)
	if len(b) == 0 {
		return nil
	}
	r.withdrawPrompt("the run continued without the answer")
	for {
		text, used := decodeText(b, last)
		if used == 0 {
			break
		}
		r.mu.Lock()
		off := r.off
		r.mu.Unlock()
		next := off + int64(used)
		event := spool.Event{Type: protocol.RunOutput, Data: protocol.Output{Stream: "stdout", Text: text, Off: &off}}
		if _, err := r.m.o.Spool.Commit(r.m.ctx, spool.Change{Run: r.id, Events: []spool.Event{event}, Offset: &next}); err != nil {
			return err
		}
		r.advance(b[:used], next)
		b = b[used:]
	}
	r.partial = append([]byte(nil), b...)
	if !last {
		r.scheduleScan()
	}
	return nil
}

// advance records that the output up to offset next is committed.
func (r *run) advance(b []byte, next int64) {
	r.tail = append(r.tail, b...)
	if over := len(r.tail) - prompt.Tail; over > 0 {
		r.tail = append(r.tail[:0], r.tail[over:]...)
	}
	r.mu.Lock()
	r.off = next
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	r.client.Ack(next)
}

// finish commits the end of the run. Before that, it waits for running operations and withdraws
// open requests.
func (r *run) finish() error {
	r.mu.Lock()
	r.ended = true
	if r.stopScan != nil {
		r.stopScan()
	}
	r.mu.Unlock()
	r.busy.Wait()
	exit, err := r.client.End()
	if err != nil {
		r.m.o.Log.Warn("a run was lost: the process that held its terminal was killed", "run", r.id)
	}
	ctx := context.WithoutCancel(r.m.ctx)
	if err := r.m.o.Approvals.CloseRun(ctx, r.id); err != nil {
		return err
	}
	if err := r.commit(ctx, spool.Change{Events: []spool.Event{exitEvent(exit)}}); err != nil {
		return err
	}
	r.mu.Lock()
	r.endCommitted = true
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	r.m.addEnded(r)
	return nil
}
