// Package ptyholder keeps one run on its terminal, spec/relay.md (its API promises nothing). The
// shim is a process of its own, in a session of its own: hostd may be killed and started
// again, and the run goes on. It holds the pseudo-terminal, appends what the run writes to a
// log, remembers which inputs it has written, and keeps how the run ended, all in the run's
// directory; hostd reads the log there and asks for the rest over a socket.
//
// Who kills the shim ends the run: the terminal hangs up.
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

// The files of a run's directory, beside those of the log.
const (
	inputsFile = "in"
	socketFile = "sock"
	exitFile   = "exit"
	logFile    = "shim.log"
)

// Spec is what to run.
type Spec struct {
	Dir  string   `json:"dir"`  // the run's directory, with the mode 0700
	Path string   `json:"path"` // of the program
	Args []string `json:"args"` // without its name
	Name string   `json:"name"` // what it is called as
	Env  []string `json:"env"`  // the whole environment
	Cwd  string   `json:"cwd"`
	Cols int64    `json:"cols"`
	Rows int64    `json:"rows"`
}

// Exit is how a run ended.
type Exit struct {
	Code   int64  `json:"code"` // 128 and the number of the signal that ended it
	Signal string `json:"signal,omitempty"`
	Reason string `json:"reason"` // exited, stopped
	Total  int64  `json:"total"`  // bytes of the log
}

// ready is what the shim tells who started it: the run's process, or why there is none.
type ready struct {
	PID   int    `json:"pid,omitempty"`
	Error string `json:"error,omitempty"`
}

// Main is the shim: it reads a Spec, says on out whether the run could be started, and returns
// when the run has ended.
func Main(in io.Reader, out io.WriteCloser) error {
	var spec Spec
	err := json.NewDecoder(in).Decode(&spec)
	if err == nil {
		err = os.Chdir(spec.Dir) // a socket's path is short, a directory's need not be
	}
	var k *keeper
	if err == nil {
		k, err = newKeeper(&spec)
	}
	said := ready{}
	if err != nil {
		said.Error = err.Error()
	} else {
		said.PID = k.term.pid()
	}
	if text, e := json.Marshal(said); e == nil {
		_, _ = out.Write(append(text, '\n')) // when nobody reads it, the run goes on all the same
	}
	out.Close()
	if err != nil {
		return err
	}
	return k.run()
}

// keeper is a shim at work.
type keeper struct {
	term *term
	log  *log
	in   *inputs
	door *door

	mu      sync.Mutex
	changed *sync.Cond
	total   int64 // bytes of the log
	taken   int64 // of them by hostd
	present bool  // hostd is
	stopped bool
	ended   bool // the run's process is
}

// How far the run may be ahead of hostd, in bytes: no further is the terminal read.
const (
	aheadOfHostd = 1 << 20
	aheadAlone   = keptBytes
)

func newKeeper(spec *Spec) (*keeper, error) {
	k := &keeper{}
	k.changed = sync.NewCond(&k.mu)
	var err error
	if k.log, err = openLog("."); err != nil {
		return nil, err
	}
	if k.in, err = openInputs("."); err != nil {
		return nil, err
	}
	if k.door, err = openDoor(k); err != nil {
		return nil, err
	}
	adoptOrphans()
	if k.term, err = startTerm(spec); err != nil {
		k.door.close()
		return nil, err
	}
	k.in.write = k.term.write
	k.in.echoes = k.term.echoes
	return k, nil
}

// afterExit is how long what the run has left running may still write.
const afterExit = 2 * time.Second

func (k *keeper) run() error {
	read := make(chan error, 1)
	go func() { read <- k.copyOutput() }()
	go k.door.serve()
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
		k.term.endRest()
	}
	k.term.close()
	k.in.close()
	k.door.settle()
	exit.Total = k.log.size
	if exit.Reason = "exited"; stopped {
		exit.Reason = "stopped"
	}
	if e := keepExit(".", exit); e != nil {
		err = errors.Join(err, e)
	}
	k.door.tell(said{Exit: &exit})
	k.door.close()
	return err
}

// copyOutput appends to the log what the run writes, until its terminal is closed. A log that
// cannot be written, as the disk is full, is tried again: the run waits.
func (k *keeper) copyOutput() error {
	b := make([]byte, 32<<10)
	for {
		ended := k.waitForRoom()
		n, err := k.term.read(b, ended)
		for rest := b[:n]; len(rest) > 0; {
			m, werr := k.log.append(rest)
			rest = rest[m:]
			k.wrote()
			if werr != nil {
				time.Sleep(time.Second)
			}
		}
		if err != nil {
			return nil // the terminal is closed, or nothing comes any more
		}
	}
}

func (k *keeper) wrote() {
	k.mu.Lock()
	k.total = k.log.size
	k.mu.Unlock()
	k.door.tellOutput(k.log.size)
}

// waitForRoom waits until hostd has taken enough, and says whether the run has ended.
func (k *keeper) waitForRoom() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		ahead := int64(aheadAlone)
		if k.present {
			ahead = aheadOfHostd
		}
		if k.total-k.taken < ahead {
			return k.ended
		}
		k.changed.Wait()
	}
}

// took notes how much hostd has, and that it is there.
func (k *keeper) took(off int64, present bool) {
	k.mu.Lock()
	k.present = present
	if off > k.taken {
		k.taken = min(off, k.total)
		k.log.prune(k.taken)
	}
	k.changed.Broadcast()
	k.mu.Unlock()
}

// keepExit keeps how a run ended, whole or not at all.
func keepExit(dir string, e Exit) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := userfile.Replace(filepath.Join(dir, exitFile), text, 0o600); err != nil {
		return fmt.Errorf("keep how the run ended: %w", err)
	}
	return nil
}

// ReadExit is how a run ended; false when it has not, or nobody knows.
func ReadExit(dir string) (Exit, bool) {
	var e Exit
	text, err := os.ReadFile(filepath.Join(dir, exitFile))
	return e, err == nil && json.Unmarshal(text, &e) == nil
}
