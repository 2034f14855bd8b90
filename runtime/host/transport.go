package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// transports is the table of transports. To add one, add a file and a line here.
var transports = map[string]Transport{
	"stdio":       stdio{},
	"claude-code": stdio{},
	"codex":       stdio{},
	"acp":         stdio{},
}

// A Transport connects to hosts.
type Transport interface {
	// Connect starts or reaches a host. An error is an *effect.Error that states what to check.
	Connect(c *Config, s Surroundings) (Conn, error)
}

// Surroundings holds what a transport needs to start a process.
type Surroundings struct {
	Env    []string          // environment
	Stderr func(line string) // receives the lines of standard error
	Run    *procgroup.Run    // run that the process belongs to; may be nil
	Keeper *keeperSpec       // nil if the process ends with this one
}

// A Conn is a line-based connection to a running host. Read and Ready are called from one goroutine
// at a time, as are Write and TryWrite. The other methods may be called from any goroutine, also
// repeatedly.
type Conn interface {
	// ReadLine waits for the host's next line. It returns io.EOF when the host has closed its
	// output, and the errors of ndjson.Reader.Next.
	ReadLine() (ndjson.Line, error)
	// Interrupt makes a current or later Read that waits fail with os.ErrDeadlineExceeded, without
	// losing data. Resume ends the effect.
	Interrupt()
	Resume()
	// Ready reports whether Read can return without waiting.
	Ready() bool
	// BytesSent returns how many bytes the host has written so far, read or not. A Line's Offset
	// counts the same bytes. It may be called from any goroutine.
	BytesSent() int64
	// Write writes whole lines. It may wait for the host to read them.
	Write(lines []byte) (int, error)
	// TryWrite writes as much of whole lines as possible without waiting, and returns the number of
	// bytes. An implementation may always return 0.
	TryWrite(lines []byte) int
	// CloseWrite closes the host's input. A waiting Write fails.
	CloseWrite()
	// Unread returns how many written bytes the host has not read, or -1 if unknown. It is also
	// valid after Done.
	Unread() int
	// Done returns a channel that is closed when the host has exited.
	Done() <-chan struct{}
	// Exit returns how the host exited. It is valid after Done.
	Exit() Exit
	// Stderr returns the last lines of the host's standard error so far.
	Stderr() string
	// End asks the host to exit, forces it when grace has passed or stop is closed, and returns
	// when all its processes have exited.
	End(grace time.Duration, stop <-chan struct{})
}

// Exit describes how a host exited. Code is its exit code, or 128 plus the number of the signal
// that ended it. Stderr holds the last lines of its standard error.
type Exit struct {
	Code   int
	Stderr string
	Limit  procgroup.Limit // the limit for which the host was killed; "" if none
}
