package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
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
