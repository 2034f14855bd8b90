package host

import (
	"context"
	"io"
	"maps"
	"os"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// transports maps the name of each transport to its implementation. A new transport needs a file
// and an entry here.
var transports = map[string]Transport{
	"stdio":       stdio{},
	"claude-code": stdio{},
	"codex":       stdio{},
	"acp":         stdio{},
}

// A Transport connects to hosts.
type Transport interface {
	// Connect starts a host or connects to it. An error is an *effect.Error whose text explains
	// what the user should check.
	Connect(c *Config, s Surroundings) (Conn, error)
}

// Surroundings holds the values that a transport needs to start a process.
type Surroundings struct {
	Env    []string          // environment
	Stderr func(line []byte) // receives the lines of standard error; each is valid during the call
	Keeper *keeperSpec       // nil if the process ends together with the Concerto process
	// Start starts the process as a part of its run, in its sandbox if it has one.
	Start func(procgroup.Command) (*procgroup.Process, error)
}

// A Conn is a line-based connection to a running host. Only one goroutine at a time may call
// ReadLine and Ready, and only one at a time may call Write and TryWrite. Any goroutine may call
// the other methods, and may call them repeatedly.
type Conn interface {
	// ReadLine waits for the host's next line. It returns io.EOF when the host has closed its
	// output, and the errors of ndjson.Reader.Next.
	ReadLine() (ndjson.Line, error)
	// Interrupt makes the current or next ReadLine that waits fail with os.ErrDeadlineExceeded. No
	// data is lost. Resume cancels the interruption.
	Interrupt()
	Resume()
	// Ready reports whether ReadLine can return without waiting.
	Ready() bool
	// BytesSent returns the number of bytes that the host has written so far, whether or not they
	// were read. A Line's Offset counts the same bytes.
	BytesSent() int64
	// Write writes whole lines. It may wait until the host reads them.
	Write(lines []byte) (int, error)
	// TryWrite writes as many bytes of the lines as possible without waiting, and returns their
	// number. An implementation may always return 0.
	TryWrite(lines []byte) int
	// CloseWrite closes the host's input. A Write that waits fails.
	CloseWrite()
	// Unread returns the number of written bytes that the host has not read, or -1 if unknown. It
	// remains valid after Done is closed.
	Unread() int
	// Done returns a channel that is closed when the host has exited.
	Done() <-chan struct{}
	// Exit returns how the host exited. It is valid after Done is closed.
	Exit() Exit
	// Stderr returns the last lines of the host's standard error so far.
	Stderr() string
	// End asks the host to exit, kills it when grace has passed or stop is closed, and returns when
	// all its processes have exited.
	End(grace time.Duration, stop <-chan struct{})
}

// Exit describes how a host exited. Code is its exit code, or 128 plus the number of the signal
// that ended it. Stderr holds the last lines of its standard error.
type Exit struct {
	Code   int
	Stderr string
	Limit  procgroup.Limit // the limit for which the host was killed; "" if none
}

// Function is a host in this process, and the transport to it. It reads the lines that a host
// receives, writes the lines that a host sends, and returns when in ends or ctx is cancelled. Its
// error is the host's last line of standard error.
type Function func(ctx context.Context, in io.Reader, out io.Writer) error

// functionPrefix begins the names of the transports to functions.
const functionPrefix = "function:"

// WithFunctions returns the table of transports with those to functions, by the names of hosts.
func WithFunctions(all map[string]Function) map[string]Transport {
	table := maps.Clone(transports)
	for name, f := range all {
		table[functionPrefix+name] = f
	}
	return table
}

// InProcess returns a configuration with the same limits and messages, whose host is a function of
// WithFunctions. It has no sandbox, and no directory of its own.
func (c *Config) InProcess() Config {
	x := *c
	x.Transport, x.Command, x.Args, x.Dir, x.Vendor, x.Isolation, x.Access.Sandbox = functionPrefix+c.Name, "", nil, "", adapter.Vendor{}, Isolation{}, nil
	x.InputFormat, x.OutputFormat = "json", "json"
	return x
}

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

// Connect starts the function.
func (run Function) Connect(c *Config, _ Surroundings) (Conn, error) {
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
		f.err = run(ctx, &countedReader{hostIn, &f.received}, &countedWriter{hostOut, &f.sent})
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
// returned. A goroutine cannot be stopped: End does not wait longer than a second grace, after
// which the pipes are closed.
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
