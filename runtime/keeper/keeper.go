// Package keeper keeps the host processes of a durable run alive while the run's own process is
// gone; its API promises nothing. The keeper is a process of its own, `concerto keeper`, in a session of its own, one for a
// run, started with its first host. It owns the hosts' processes, their pipes and groups. What a
// host writes it appends, in whole lines, to hosts/<name>.<k>/out in the run's directory before it
// hands it on over a Unix socket, and has it until it is told that it is journaled. What is said
// to a host comes in frames with numbers, and is taken once.
//
// Client is the run's end. In a resumed run it attaches to the keeper, and has every process's
// output again from any line on, with the frames that were taken: so package runtime/host, which
// uses it behind its Conn, makes an exchange as it was.
//
// A process may have more than its pipes: a bridge, over which programs that it has started say lines, which stand
// among its own in the order in which they came, and are answered by frames; and commands that it has had started.
// Both end with it.
//
// Invariants. One owner is served, the one with the highest number seen. Environment and secrets
// come over the socket alone; in files secrets stand as marks. Hosts never outlive the keeper:
// they are killed with it. Nobody attached for the orphan time: they are ended, and it ends. With
// nobody attached and no host left it writes down how they ended, and ends. Nobody attached and the
// run's directory removed: they are ended, and it ends, within a minute.
package keeper

import (
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// What the keeper has in the run's directory.
const (
	addressFile = "keeper.json"
	socketFile  = "keeper.sock"
	hostsDir    = "hosts"
	outFile     = "out"      // what a host has written
	bridgeFile  = "bridge"   // where its bridge is
	endFile     = "end.json" // how it ended, when nobody was there to hear of it
	logFile     = "keeper.log"
	lockFile    = "keeper.lock"
)

// Bounds.
const (
	// maxUnjournaled is how much of a host's output may be known to nobody's journal before no more
	// of it is read.
	maxUnjournaled = 64 << 20
	// maxPending is how much may wait for a host to read it before no more is taken.
	maxPending = 4 << 20
	// grace is between SIGTERM and SIGKILL for hosts of a run that nobody wants any more.
	grace = 5 * time.Second
	// DefaultOrphan is how long the keeper waits for a run's next process.
	DefaultOrphan = time.Hour
	// removedCheckInterval is how often the keeper checks whether the run's directory was removed.
	removedCheckInterval = 20 * time.Second
	// firstConnectTimeout is how long it waits for who has started it.
	firstConnectTimeout = 30 * time.Second
)

// Why a keeper cannot be used; matched with errors.Is.
var (
	// ErrNone says that the run has no keeper, or none any more.
	ErrNone = errors.New("the run has no keeper")
	// ErrLost says that the keeper has ended, and the hosts with it.
	ErrLost = errors.New("the process that kept the run's hosts has ended, and they with it")
	// ErrFenced says that another process, with a higher number, has the run.
	ErrFenced = errors.New("another process has taken over the run")
	// ErrNoConfig says that nobody has told a keeper what to keep.
	ErrNoConfig = errors.New("a keeper is told what to keep by the run that starts it")
	// ErrLeft is what is read after Client.Leave.
	ErrLeft = errors.New("the hosts are left to their keeper")
)

// ID names a process of a host: the K-th of it, from 1.
type ID struct {
	Host string `json:"host"`
	K    int64  `json:"k"`
}

// dir is where a process's files are, in the run's directory.
func (id ID) dir() string { return filepath.Join(hostsDir, id.String()) }

// String is <name>.<k>.
func (id ID) String() string { return id.Host + "." + strconv.FormatInt(id.K, 10) }

// Spec is what to start: the wish to have a process of a host. Whole says that all the process
// will have said is wanted again in a resumed run, which makes its state of it; else what is
// journaled may be forgotten. Note is the client's own.
type Spec struct {
	ID
	Path     string            `json:"path"` // of the program
	Args     []string          `json:"args,omitempty"`
	Env      []string          `json:"env,omitempty"` // the whole environment
	Dir      string            `json:"dir,omitempty"`
	Limits   *procgroup.Limits `json:"limits,omitempty"`
	LongLine int               `json:"long_line,omitempty"` // a line longer than this is handed on before it ends; 0: 16 MiB
	Bridge   string            `json:"bridge,omitempty"`    // the path of the bridge to it; "": there is none
	Whole    bool              `json:"whole,omitempty"`
	Note     []byte            `json:"note,omitempty"`
}

// Exit is how a process ended.
type Exit struct {
	Code   int             `json:"code"` // 128 plus the number of the signal that ended it
	Signal string          `json:"signal,omitempty"`
	Stderr string          `json:"stderr,omitempty"`
	Limit  procgroup.Limit `json:"limit,omitempty"`
}

// Process is what is known of a process that is kept.
type Process struct {
	ID
	PID    int     `json:"pid"`
	Exit   *Exit   `json:"exit,omitempty"` // nil while it runs
	Over   bool    `json:"over,omitempty"` // its output has ended
	Taken  uint64  `json:"taken"`          // frames
	Lines  int64   `json:"lines"`          // that it has written
	Acked  int64   `json:"acked"`          // of them in the journal
	Bytes  int64   `json:"bytes"`          // in all its lines
	Mark   int64   `json:"mark"`           // see Conn.Said
	Note   []byte  `json:"note,omitempty"` // of its Spec
	Whole  bool    `json:"whole,omitempty"`
	Script []Entry `json:"script,omitempty"`
}

// Entry is a frame that was taken, without what was said to the host by it. For a process that is
// not Whole there are those since the last one of KindBegin alone, and pinned ones.
type Entry struct {
	N     uint64 `json:"n"`
	Kind  Kind   `json:"kind"`
	Heard int64  `json:"heard"` // the line that its sender had heard last
	Note  []byte `json:"note,omitempty"`
}

// Kind says what a frame is, for whoever makes up its state again from them.
type Kind uint8

// The kinds of frames.
const (
	KindSay    Kind = 1 + iota // something of ours is said, in the host's words
	KindHeard                  // an answer to a line, which follows from the line alone
	KindDirect                 // an answer to a line, which follows from something else as well
	KindBegin                  // as KindSay, and it begins an exchange
	KindNote                   // nothing is said
	KindPinned                 // as KindSay, and not forgotten when the next exchange begins
)

// address is the content of keeper.json.
type address struct {
	Socket string `json:"socket"` // its path; relative to the run's directory
	Token  string `json:"token"`  // who knows it is let in
	Boot   string `json:"boot"`   // of the machine, by which one that has gone with it is told
	PID    int    `json:"pid"`
}

// Secret is the value of a variable that is not to stand in any file.
type Secret struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
