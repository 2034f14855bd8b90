// Package ptyholder implements the process that holds the terminal of one run (spec/relay.md). The
// process has a session of its own, so the run continues when hostd is killed and restarted. It
// owns the pseudo-terminal. In the run's directory it appends the run's output to a log, and
// records the inputs that it has written and the exit of the run. hostd reads the log in that
// directory and sends requests over a socket.
//
// If the holder is killed, the terminal hangs up and the run ends.
package ptyholder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Files in a run's directory, in addition to the log.
const (
	inputsFile = "in"
	socketFile = "sock"
	exitFile   = "exit"
	logFile    = "shim.log"
)

// Spec describes the process of a run.
type Spec struct {
	Dir  string   `json:"dir"`  // directory of the run, with mode 0700
	Path string   `json:"path"` // path of the executable
	Args []string `json:"args"` // arguments without argv[0]
	Name string   `json:"name"` // argv[0]
	Env  []string `json:"env"`  // the complete environment
	Cwd  string   `json:"cwd"`
	Cols int64    `json:"cols"`
	Rows int64    `json:"rows"`
}

// Exit describes how a run ended.
type Exit struct {
	Code   int64  `json:"code"` // exit code; 128 plus the signal's number if a signal ended the process
	Signal string `json:"signal,omitempty"`
	Reason string `json:"reason"` // exited or stopped
	Total  int64  `json:"total"`  // length of the log in bytes
}

// ready is the message that the holder sends to the process that started it. It contains the
// process id of the run, or an error.
type ready struct {
	PID   int    `json:"pid,omitempty"`
	Error string `json:"error,omitempty"`
}

// Main runs a PTY holder. It reads a Spec from in, writes to out whether the run was started, and
// returns when the run has ended.
func Main(in io.Reader, out io.WriteCloser) error {
	var spec Spec
	err := json.NewDecoder(in).Decode(&spec)
	if err == nil {
		err = os.Chdir(spec.Dir) // the path of a socket is limited in length, so the socket is opened by a relative path
	}
	var k *runHolder
	if err == nil {
		k, err = newRunHolder(&spec)
	}
	msg := ready{}
	if err != nil {
		msg.Error = err.Error()
	} else {
		msg.PID = k.term.pid()
	}
	if text, e := json.Marshal(msg); e == nil {
		_, _ = out.Write(append(text, '\n')) // ignore the error: the run continues even if hostd does not read the message
	}
	out.Close()
	if err != nil {
		return err
	}
	return k.run()
}

// runHolder is the state of a PTY holder.
type runHolder struct {
	term   *term
	log    *log
	in     *inputs
	server *server

	mu        sync.Mutex
	changed   *sync.Cond
	total     int64 // length of the log in bytes
	acked     int64 // number of bytes of the log that hostd has stored
	connected bool  // whether hostd is connected
	stopped   bool
	ended     bool // the process of the run has exited
}

// The maximum number of bytes of output that hostd has not stored: while hostd is connected, and
// while it is not. At the maximum, the holder stops reading the terminal.
const (
	maxUnread         = 1 << 20
	maxUnreadDetached = retainedBytes
)

func newRunHolder(spec *Spec) (*runHolder, error) {
	k := &runHolder{}
	k.changed = sync.NewCond(&k.mu)
	var err error
	if k.log, err = openLog("."); err != nil {
		return nil, err
	}
	if k.in, err = openInputs("."); err != nil {
		return nil, err
	}
	if k.server, err = newServer(k); err != nil {
		return nil, err
	}
	adoptOrphans()
	if k.term, err = startTerm(spec); err != nil {
		k.server.close()
		return nil, err
	}
	k.in.write = k.term.write
	k.in.echoes = k.term.echoes
	return k, nil
}

// afterExit is the time for which the output of orphaned processes is still read after the run's
// process has exited.
const afterExit = 2 * time.Second

func (k *runHolder) run() error {
	read := make(chan error, 1)
	go func() { read <- k.copyOutput() }()
	go k.server.serve()
	go k.in.serve()
	defer reapOrphans(k.term.pid())()
	exit := k.term.wait()
	k.mu.Lock()
	k.ended = true
	stopped := k.stopped
	k.changed.Broadcast()
	k.mu.Unlock()
	k.term.hurry()
	err := <-read
	if stopped {
		k.term.killRest()
	}
	k.term.close()
	k.in.close()
	k.server.drain()
	exit.Total = k.log.size
	if exit.Reason = "exited"; stopped {
		exit.Reason = "stopped"
	}
	if e := storeExit(".", exit); e != nil {
		err = errors.Join(err, e)
	}
	k.server.send(response{Exit: &exit})
	k.server.close()
	return err
}

// copyOutput appends the run's output to the log until the terminal is closed. While the disk is
// full, it retries, and the run blocks on its output.
func (k *runHolder) copyOutput() error {
	b := make([]byte, 32<<10)
	for {
		ended := k.waitForRoom()
		n, err := k.term.read(b, ended)
		for rest := b[:n]; len(rest) > 0; {
			m, werr := k.log.append(rest)
			rest = rest[m:]
			k.reportWritten()
			if werr != nil {
				time.Sleep(time.Second)
			}
		}
		if err != nil {
			return nil // the terminal is closed, or there is no more output
		}
	}
}

func (k *runHolder) reportWritten() {
	k.mu.Lock()
	k.total = k.log.size
	k.mu.Unlock()
	k.server.reportOutput(k.log.size)
}

// waitForRoom waits until hostd has stored enough output. It reports whether the run's process has
// exited.
func (k *runHolder) waitForRoom() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		ahead := int64(maxUnreadDetached)
		if k.connected {
			ahead = maxUnread
		}
		if k.total-k.acked < ahead {
			return k.ended
		}
		k.changed.Wait()
	}
}

// setAcked records how many bytes of the log hostd has stored, and whether hostd is connected.
func (k *runHolder) setAcked(off int64, present bool) {
	k.mu.Lock()
	k.connected = present
	if off > k.acked {
		k.acked = min(off, k.total)
		k.log.prune(k.acked)
	}
	k.changed.Broadcast()
	k.mu.Unlock()
}

// storeExit stores how a run ended. It writes the file atomically.
func storeExit(dir string, e Exit) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := userfile.Replace(filepath.Join(dir, exitFile), text, 0o600); err != nil {
		return fmt.Errorf("store the run's exit: %w", err)
	}
	return nil
}

// ReadExit returns how a run ended. It returns false if the run has not ended, or if its holder was
// killed.
func ReadExit(dir string) (Exit, bool) {
	var e Exit
	text, err := os.ReadFile(filepath.Join(dir, exitFile))
	return e, err == nil && json.Unmarshal(text, &e) == nil
}
