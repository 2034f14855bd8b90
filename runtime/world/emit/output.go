package emit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// outputLimit is the number of unwritten bytes above which the program waits.
const outputLimit = 1 << 20

// output writes in a separate goroutine, so that the program does not wait for each line. It writes
// output immediately. Output that arrives during a write is written by the next one.
type output struct {
	w io.Writer

	mu      sync.Mutex
	changed sync.Cond // signals that output was written or that writing has failed
	buf     []byte    // output that is not yet written
	spare   []byte    // second buffer; nil while a write uses it
	added   int64     // number of bytes added so far
	written int64     // number of bytes written so far
	err     error     // error of a failed write; afterwards no output is accepted
	closed  bool
	wake    chan struct{}
	done    chan struct{} // closed when the writer has ended; nil before the first output
}

func newOutput(w io.Writer) *output {
	o := &output{w: w, wake: make(chan struct{}, 1)}
	o.changed.L = &o.mu
	return o
}

// appendOutput appends the bytes that write appends. It waits while too much output is unwritten.
// It fails if writing has failed or ctx ends.
func (o *output) appendOutput(ctx context.Context, write func([]byte) []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) >= outputLimit {
		if err := o.waitUntil(ctx, func() bool { return len(o.buf) < outputLimit }); err != nil {
			return err
		}
	}
	if o.err != nil {
		return o.err
	}
	if o.closed {
		return errors.New("could not write the output: it is closed because the run has ended")
	}
	before := len(o.buf)
	o.buf = write(o.buf)
	o.added += int64(len(o.buf) - before)
	if before == 0 {
		o.startWriter()
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// waitUntil waits until ok returns true or writing has failed. It returns an error only if ctx
// ends. The caller holds the lock, which is released during the wait.
func (o *output) waitUntil(ctx context.Context, ok func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})
	defer stop()
	for !ok() && o.err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		o.changed.Wait()
	}
	return nil
}

// startWriter starts the writer at the first output.
func (o *output) startWriter() {
	if o.done == nil {
		o.done = make(chan struct{})
		go o.writeLoop()
	}
}

func (o *output) writeLoop() {
	defer close(o.done)
	for range o.wake {
		for o.writeAll() {
		}
		o.mu.Lock()
		over := o.closed || o.err != nil
		o.mu.Unlock()
		if over {
			return
		}
	}
}

// writeAll writes the buffer in one call. It returns false if the buffer was empty.
func (o *output) writeAll() bool {
	o.mu.Lock()
	b := o.buf
	if len(b) == 0 || o.err != nil {
		o.mu.Unlock()
		return false
	}
	o.buf, o.spare = o.spare[:0], nil
	o.mu.Unlock()
	_, err := o.w.Write(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	if cap(b) <= 2*outputLimit {
		o.spare = b[:0]
	}
	if err == nil {
		o.written += int64(len(b))
	} else {
		o.err = outputError(err)
	}
	o.changed.Broadcast()
	return true
}

func outputError(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		return ErrNoReader
	}
	return fmt.Errorf("could not write the output: %w", err)
}

// flushOutput returns when all output that was added before is written.
func (o *output) flushOutput(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	upTo := o.added
	if err := o.waitUntil(ctx, func() bool { return o.written >= upTo }); err != nil {
		return err
	}
	return o.err
}

// byteCounts returns the number of bytes added and the number of bytes written so far.
func (o *output) byteCounts() (added, written int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.added, o.written
}

// closeOutput writes the remaining output and ends the writer. When ctx ends, it returns without
// waiting for a blocked write.
func (o *output) closeOutput(ctx context.Context) error {
	err := o.flushOutput(ctx)
	o.mu.Lock()
	first := !o.closed
	o.closed = true
	done := o.done
	o.mu.Unlock()
	if done == nil {
		return err
	}
	if first {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return err
}
