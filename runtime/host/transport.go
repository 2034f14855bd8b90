package host

import (
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// transports is the table of transports; a new one is a file and a line here.
var transports = map[string]Transport{
	"stdio":       stdio{},
	"claude-code": stdio{},
	"codex":       stdio{},
	"acp":         stdio{},
}

// A Transport connects to hosts.
type Transport interface {
	// Connect starts or reaches a host. A failure is an *effect.Error that says
	// what to check.
	Connect(c *Config, s Surroundings) (Conn, error)
}

// Surroundings are what a new process of a host finds.
type Surroundings struct {
	Env    []string          // its environment
	Stderr func(line string) // takes what it says beside the protocol
	Run    *procgroup.Run    // to which it belongs; may be nil
	Keep   *keeping          // nil: it ends with this process
}

// A Conn is one running host, as lines. Read and Ready are called from one
// goroutine at a time, Write and TryWrite too, the rest from any and more than once.
type Conn interface {
	// Read waits for the host's next line. It fails with io.EOF when the host
	// has ended or will not send any more, and as ndjson.Reader.Next does.
	Read() (ndjson.Line, error)
	// Interrupt makes a Read that waits, now or later, fail with
	// os.ErrDeadlineExceeded; nothing is lost by that. Resume ends it.
	Interrupt()
	Resume()
	// Ready says that Read may return without waiting.
	Ready() bool
	// Said is how many bytes the host has sent by now, read or not; a Line's
	// Offset counts the same bytes. It is called from any goroutine.
	Said() int64
	// Write sends whole lines. It may wait for the host to read them.
	Write(lines []byte) (int, error)
	// TryWrite sends as much of whole lines as goes without waiting, and says
	// how many bytes that is. None is always right.
	TryWrite(lines []byte) int
	// CloseWrite ends the host's input. It makes a waiting Write fail.
	CloseWrite()
	// Unread is how many of the bytes written the host has not read, -1 when
	// that cannot be known. Valid after Done as well.
	Unread() int
	// Done is closed when the host has ended.
	Done() <-chan struct{}
	// Exit says how the host ended; valid after Done.
	Exit() Exit
	// Stderr is the last lines of the host's standard error so far.
	Stderr() string
	// End asks the host to end, makes it when grace is over or stop is closed,
	// and returns when nothing is left of it.
	End(grace time.Duration, stop <-chan struct{})
}

// Exit is how a host ended. Code is its exit code, or 128 plus the number of
// the signal that ended it; Stderr the last lines of its standard error.
type Exit struct {
	Code   int
	Stderr string
	Limit  procgroup.Limit // the host was killed for crossing it; "" for another reason
}
