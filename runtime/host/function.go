package host

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// Function is a host in this process. It reads the lines that a host receives, writes the lines that
// a host sends, and returns when in ends or ctx is cancelled. Its error is the host's last line of
// standard error.
type Function func(ctx context.Context, in io.Reader, out io.Writer) error

// functionConn is a connection to a Function, through two pipes of the operating system.
type functionConn struct {
	in, out  *os.File // the ends of this side
	lines    *ndjson.Reader
	written  atomic.Int64 // bytes that were written to the host
	received atomic.Int64 // bytes that the host has read
	sent     atomic.Int64 // bytes that the host has written
	cancel   context.CancelFunc
	done     chan struct{}
	err      error // of the function; valid after done is closed
}

// connectFunction starts the function of a configuration.
func (c *Config) connectFunction() (Conn, error) {
	hostIn, in, err := os.Pipe()
	if err != nil {
		return nil, c.errorf("cannot be started: %v", err)
	}
	out, hostOut, err := os.Pipe()
	if err != nil {
		_, _ = hostIn.Close(), in.Close() // the first error is more useful
		return nil, c.errorf("cannot be started: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &functionConn{in: in, out: out, lines: ndjson.NewReader(out, c.MaxLine), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer cancel()
		defer hostOut.Close()
		defer hostIn.Close()
		f.err = c.Function(ctx, &countedReader{hostIn, &f.received}, &countedWriter{hostOut, &f.sent})
	}()
	return f, nil
}

type countedReader struct {
	from *os.File
	n    *atomic.Int64
}

func (r *countedReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.n.Add(int64(n))
	return n, err
}

type countedWriter struct {
	to *os.File
	n  *atomic.Int64
}

func (w *countedWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.n.Add(int64(n))
	return n, err
}

func (f *functionConn) ReadLine() (ndjson.Line, error) { return f.lines.NextLine() }

// Interrupt and Resume ignore an error, which only means that the output is closed.
func (f *functionConn) Interrupt() { _ = f.out.SetReadDeadline(time.Unix(1, 0)) }

func (f *functionConn) Resume() { _ = f.out.SetReadDeadline(time.Time{}) }

func (f *functionConn) Ready() bool { return f.lines.Ready() }

func (f *functionConn) BytesSent() int64 { return f.sent.Load() }

func (f *functionConn) Write(b []byte) (int, error) {
	n, err := f.in.Write(b)
	f.written.Add(int64(n))
	return n, err
}

func (f *functionConn) TryWrite([]byte) int { return 0 }

// CloseWrite ignores the error, which only means that the input is already closed.
func (f *functionConn) CloseWrite() { _ = f.in.Close() }

func (f *functionConn) Unread() int { return int(f.written.Load() - f.received.Load()) }

func (f *functionConn) Done() <-chan struct{} { return f.done }

func (f *functionConn) Exit() Exit {
	if f.err != nil {
		return Exit{Code: 1, Stderr: f.err.Error()}
	}
	return Exit{}
}

func (f *functionConn) Stderr() string {
	select {
	case <-f.done:
		return f.Exit().Stderr
	default:
		return ""
	}
}

// End closes the input of the function, cancels its context after grace, and waits until it has
// returned. A goroutine cannot be stopped: End gives up after a second grace, and the pipes, which
// are then closed, keep it from reaching the run.
func (f *functionConn) End(grace time.Duration, stop <-chan struct{}) {
	f.CloseWrite()
	wait := func(limit time.Duration) bool {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-f.done:
			return true
		case <-stop:
		case <-timer.C:
		}
		return false
	}
	if !wait(grace) {
		f.cancel()
		stop = nil
		wait(max(grace, time.Second))
	}
	_ = f.out.Close() // its reader has ended
}
