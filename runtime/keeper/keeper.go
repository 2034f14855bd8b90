// Package keeper runs the host processes of a durable run, even while no Concerto process executes
// the run. Each run has at most one keeper: the process `concerto keeper`, in a separate session,
// which starts with the run's first host. The keeper owns the hosts' processes, pipes and process
// groups. It appends the complete output lines of a host to the file hosts/<name>.<k>/out in the
// run's directory, and then sends them over a Unix socket. It stores them until the client
// acknowledges that they are journaled. The input of a host arrives in numbered frames, and each
// frame is accepted exactly once.
//
// Client is the run's side. In a resumed run it attaches to the keeper. It receives the output of
// each process from any line on, and the accepted frames. Package runtime/host restores its
// exchanges from them.
//
// On Linux, the keeper lends the output of most processes to the client, which reads the pipe of
// the process itself (see lending). The keeper continues when the client no longer reads.
//
// A process may also have a bridge and terminals. Programs that the process starts send lines over
// the bridge. The keeper inserts these lines into the output of the process in the order of their
// arrival; frames contain the answers. Terminals are commands that run for the process. The bridge
// and the terminals end with the process.
//
// Invariants. The keeper serves only the owner with the highest number. Environment and secrets
// arrive only over the socket; in files, marks replace the secrets. Hosts never outlive the keeper,
// because they are killed together with it. If no client is connected for the orphan time, the
// keeper ends the hosts and itself. If no client is connected and no host is running, the keeper
// writes the hosts' exits to files and ends. If no client is connected and the run's directory was
// removed, it ends the hosts and itself within a minute.
package keeper

import (
	"errors"
	"path"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// Names of files in the directory of the run.
const (
	addressFile = "keeper.json"
	socketFile  = "keeper.sock"
	hostsDir    = "hosts"
	outFile     = "out"      // output of a host
	bridgeFile  = "bridge"   // path of its bridge
	endFile     = "end.json" // how it exited, if no client was attached
	logFile     = "keeper.log"
	lockFile    = "keeper.lock"
)

// Limits of the keeper.
const (
	// maxUnjournaled is the number of unjournaled bytes at which the keeper stops reading the
	// output of a host.
	maxUnjournaled = 64 << 20
	// maxPending is the number of input bytes waiting for a host at which the keeper stops
	// accepting frames.
	maxPending = 4 << 20
	// grace is the time between SIGTERM and SIGKILL for hosts that are no longer needed.
	grace = 5 * time.Second
	// DefaultOrphan is how long the keeper waits for the next owner of the run.
	DefaultOrphan = time.Hour
	// removedCheckInterval is how often the keeper checks whether the run's directory was removed.
	removedCheckInterval = 20 * time.Second
	// firstConnectTimeout is how long the keeper waits for a connection of the process that has
	// started it.
	firstConnectTimeout = 30 * time.Second
)

// Errors of a keeper, for use with errors.Is.
var (
	// ErrNone means that the run has no keeper.
	ErrNone = errors.New("the run has no keeper")
	// ErrLost means that the keeper and its hosts have exited unexpectedly.
	ErrLost = errors.New("the keeper process of the run's hosts has exited, and the hosts with it")
	// ErrFenced means that another process, with a higher owner number, has taken over the run.
	ErrFenced = errors.New("another process has taken over the run")
	// ErrNoConfig means that the keeper received no configuration.
	ErrNoConfig = errors.New("the keeper must be started by a run")
	// ErrLeft is the error of reads after Client.Leave.
	ErrLeft = errors.New("the client has detached: the hosts continue under their keeper")
)

// ID identifies a process: the K-th process of a host, from 1.
type ID struct {
	Host string `json:"host"`
	K    int64  `json:"k"`
}

// dir returns the directory of the process's files, relative to the run's directory.
func (id ID) dir() string { return path.Join(hostsDir, id.String()) }

func (id ID) String() string { return id.Host + "." + strconv.FormatInt(id.K, 10) }

// Spec describes a process to start. Whole means that a resumed run needs the complete output to
// restore the state of the process; otherwise journaled output may be deleted. Only the client
// interprets Note.
type Spec struct {
	ID
	Path   string            `json:"path"` // path of the program
	Args   []string          `json:"args,omitempty"`
	Env    []string          `json:"env,omitempty"` // the whole environment
	Dir    string            `json:"dir,omitempty"`
	Limits *procgroup.Limits `json:"limits,omitempty"`
	// length in bytes above which a line is sent in pieces, before its end has arrived; 0 means 16
	// MiB
	LongLine int    `json:"long_line,omitempty"`
	Bridge   string `json:"bridge,omitempty"` // path of its bridge; "" for none
	// sandbox of the process and its terminals; nil for none
	Sandbox *sandbox.Confinement `json:"sandbox,omitempty"`
	Whole   bool                 `json:"whole,omitempty"`
	Note    []byte               `json:"note,omitempty"`
}

// Exit describes how a process exited.
type Exit struct {
	Code   int             `json:"code"` // 128 plus the number of the signal that ended it
	Signal string          `json:"signal,omitempty"`
	Stderr string          `json:"stderr,omitempty"`
	Limit  procgroup.Limit `json:"limit,omitempty"`
}

// Process is the state of a process that a keeper runs.
type Process struct {
	ID
	PID      int     `json:"pid"`
	Exit     *Exit   `json:"exit,omitempty"` // nil while the process runs
	Over     bool    `json:"over,omitempty"` // its output has ended
	Accepted uint64  `json:"taken"`          // number of the last accepted frame
	Lines    int64   `json:"lines"`          // number of lines in the output
	Acked    int64   `json:"acked"`          // number of journaled lines
	Bytes    int64   `json:"bytes"`          // bytes in all lines
	Mark     int64   `json:"mark"`           // see Conn.BytesSent
	Note     []byte  `json:"note,omitempty"` // of its Spec
	Whole    bool    `json:"whole,omitempty"`
	Script   []Entry `json:"script,omitempty"`
}

// Entry is an accepted frame without its text. If the process is not Whole, the keeper stores only
// the frames since the last KindBegin and the pinned frames.
type Entry struct {
	N        uint64 `json:"n"`
	Kind     Kind   `json:"kind"`
	LastLine int64  `json:"heard"` // the last line that the sender had received
	Note     []byte `json:"note,omitempty"`
}

// Kind is the kind of a frame. Resumed runs need it to restore the state of an exchange.
type Kind uint8

// The kinds of frames.
const (
	KindSent   Kind = 1 + iota // line of the Concerto protocol, translated if necessary
	KindReply                  // answer that depends only on the received line
	KindDirect                 // answer that also depends on other data
	KindBegin                  // like KindSent, but begins an exchange
	KindNote                   // note without a text
	KindPinned                 // like KindSent, but remains stored when the next exchange begins
)

// address is the content of keeper.json.
type address struct {
	Socket string `json:"socket"` // path of the socket, relative to the run's directory
	Token  string `json:"token"`  // required in a hello
	Boot   string `json:"boot"`   // boot id of the machine; a different one means that the keeper no longer exists
	PID    int    `json:"pid"`
}

// Secret is the value of a variable that must not appear in a file.
type Secret struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
