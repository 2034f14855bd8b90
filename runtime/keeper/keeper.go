// Package keeper runs the host processes of a durable run, also while no process of the run exists;
// its API promises nothing. Each run has at most one keeper, the process `concerto keeper` in a
// session of its own, which starts with the run's first host. It owns the hosts' processes, pipes
// and process groups. It appends a host's output, in whole lines, to hosts/<name>.<k>/out in the
// run's directory, then sends it over a Unix socket, and stores it until the client reports that it
// is journaled. A host's input arrives in numbered frames, and each frame is accepted once.
//
// Client is the run's side. In a resumed run it attaches to the keeper and receives each process's
// output from any line, together with the accepted frames. From these package runtime/host restores
// its exchanges.
//
// A process may also have a bridge and terminals. Lines that programs started by the process send
// over the bridge are inserted into the process's output in order of arrival, and are answered by
// frames. Terminals are commands that run for the process. Both end with the process.
//
// Invariants. The keeper serves only the owner with the highest number. Environment and secrets
// come only over the socket; files contain marks in place of secrets. Hosts never outlive the
// keeper: they are killed with it. After the orphan time without a client, the keeper ends the
// hosts and itself. Without a client and without a running host, it writes how the hosts exited,
// and ends. Without a client and after the run's directory was removed, it ends the hosts and
// itself within a minute.
package keeper

import (
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Files in the run's directory.
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

// Limits.
const (
	// maxUnjournaled is the amount of unjournaled output of a host from which no more is read.
	maxUnjournaled = 64 << 20
	// maxPending is the amount of input that may wait for a host to read it before no more is
	// accepted.
	maxPending = 4 << 20
	// grace is the time between SIGTERM and SIGKILL for hosts that are no longer needed.
	grace = 5 * time.Second
	// DefaultOrphan is how long the keeper waits for the run's next process.
	DefaultOrphan = time.Hour
	// removedCheckInterval is how often the keeper checks whether the run's directory was removed.
	removedCheckInterval = 20 * time.Second
	// firstConnectTimeout is how long the keeper waits for the process that started it.
	firstConnectTimeout = 30 * time.Second
)

// Errors of a keeper, for use with errors.Is.
var (
	// ErrNone means that the run has no keeper.
	ErrNone = errors.New("the run has no keeper")
	// ErrLost means that the keeper and its hosts have exited.
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
func (id ID) dir() string { return filepath.Join(hostsDir, id.String()) }

func (id ID) String() string { return id.Host + "." + strconv.FormatInt(id.K, 10) }

// Spec describes a process to start. Whole means that a resumed run needs the complete output, from
// which it restores the process's state; otherwise journaled output may be deleted. Note belongs to
// the client.
type Spec struct {
	ID
	Path   string            `json:"path"` // path of the program
	Args   []string          `json:"args,omitempty"`
	Env    []string          `json:"env,omitempty"` // the whole environment
	Dir    string            `json:"dir,omitempty"`
	Limits *procgroup.Limits `json:"limits,omitempty"`
	// a longer line is sent before it ends; 0 means 16 MiB
	LongLine int    `json:"long_line,omitempty"`
	Bridge   string `json:"bridge,omitempty"` // path of its bridge; "" for none
	Whole    bool   `json:"whole,omitempty"`
	Note     []byte `json:"note,omitempty"`
}

// Exit describes how a process exited.
type Exit struct {
	Code   int             `json:"code"` // 128 plus the number of the signal that ended it
	Signal string          `json:"signal,omitempty"`
	Stderr string          `json:"stderr,omitempty"`
	Limit  procgroup.Limit `json:"limit,omitempty"`
}

// Process is the state of a kept process.
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

// Entry is an accepted frame without its text. For a process that is not Whole, only the frames
// since the last KindBegin and the pinned ones are stored.
type Entry struct {
	N        uint64 `json:"n"`
	Kind     Kind   `json:"kind"`
	LastLine int64  `json:"heard"` // the last line that the sender had received
	Note     []byte `json:"note,omitempty"`
}

// Kind is the kind of a frame, used to restore the state from frames.
type Kind uint8

// The kinds of frames.
const (
	KindSent   Kind = 1 + iota // one of our lines, translated if necessary
	KindReply                  // an answer that depends only on the received line
	KindDirect                 // an answer that also depends on other things
	KindBegin                  // like KindSay, and begins an exchange
	KindNote                   // a note without text
	KindPinned                 // like KindSay, but stored when the next exchange begins
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
