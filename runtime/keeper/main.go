package keeper

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// config is what a keeper is told when it is started.
type config struct {
	Dir        string `json:"dir"` // the run's directory
	Run        string `json:"run"` // its id
	Executable string `json:"executable"`
	OrphanMS   int64  `json:"orphan_ms"`
	Owner      int64  `json:"owner"`
	Token      string `json:"token"`
}

// ready is what it says when it is there, or cannot be.
type ready struct {
	Error string `json:"error,omitempty"`
	Held  bool   `json:"held,omitempty"` // there is one, or one that is on its way
}

// keeper is the process at work.
type keeper struct {
	config
	run    *procgroup.Run
	boot   string
	log    io.Writer
	hide   hiding
	door   net.Listener
	place  *os.File       // its address file, which is removed with the run's directory
	unlock func() error   // what it locks while it is there
	busy   sync.WaitGroup // what works for hosts and connections
	over   chan struct{}  // it ends
	ending sync.Once

	mu     sync.Mutex
	hosted []*hosted
	living int // of them
	callers
}

// callers are who has connected.
type callers struct {
	owner    int64                           // the highest that was seen
	control  *holder.Peer                    // everything but lines goes over it
	alone    *time.Timer                     // ends the keeper when nobody comes
	came     bool                            // somebody has
	conns    map[*net.UnixConn]chan struct{} // closed when it is served
	admitted map[*net.UnixConn]bool          // those of the owner
}

// Main is the keeper: it reads what to keep on in, says on out when it can be reached, and returns
// when the run's hosts have ended, or nobody wants them any more.
func Main(in io.Reader, out io.Writer, log io.Writer) error {
	var c config
	if json.NewDecoder(in).Decode(&c) != nil {
		return ErrUntold
	}
	k, err := newKeeper(c, log)
	said := ready{}
	if err != nil {
		said.Error, said.Held = err.Error(), errors.Is(err, lockfile.ErrHeld)
	}
	_ = json.NewEncoder(out).Encode(said) // when nobody reads it, nobody comes
	if c, ok := out.(io.Closer); ok {
		c.Close()
	}
	if err != nil {
		return err
	}
	return k.serve()
}

func newKeeper(c config, log io.Writer) (*keeper, error) {
	k := &keeper{config: c, run: &procgroup.Run{ID: c.Run, Executable: c.Executable, Kept: newToken()[:8]}, boot: bootID(), log: log, over: make(chan struct{}),
		callers: callers{owner: c.Owner, conns: map[*net.UnixConn]chan struct{}{}, admitted: map[*net.UnixConn]bool{}}}
	unlock, err := lockfile.Lock(filepath.Join(c.Dir, lockFile))
	if err != nil {
		return nil, err
	}
	k.unlock = unlock
	sweepBridges(c.Dir) // nobody else is there
	door, at, err := holder.Listen(c.Dir, socketFile)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	k.door = door
	a := address{Socket: at, Token: k.Token, Boot: k.boot, PID: os.Getpid()}
	if err := replace(filepath.Join(c.Dir, addressFile), a); err != nil {
		return nil, errors.Join(err, door.Close())
	}
	if k.place, err = os.Open(filepath.Join(c.Dir, addressFile)); err != nil {
		return nil, errors.Join(err, door.Close())
	}
	return k, nil
}

// newToken is one that nobody can guess.
func newToken() string { return rand.Text() }

// serve works until the keeper ends.
func (k *keeper) serve() error {
	procgroup.Discard(syscall.SIGINT, syscall.SIGHUP)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	k.mu.Lock()
	k.alone = time.AfterFunc(firstCall, func() { k.end("nobody has come") })
	k.mu.Unlock()
	go k.accept()
	ticker := time.NewTicker(removedEvery)
	defer ticker.Stop()
	go k.watch(ticker.C)
	select {
	case <-stop:
		k.end("it is told to end")
		<-k.over
	case <-k.over:
	}
	k.door.Close()
	k.endAll()
	removed := isRemoved(k.place) // then another run may be in its place
	if !removed {
		_ = os.Remove(filepath.Join(k.Dir, addressFile)) // who comes now finds nobody
	}
	k.mu.Lock()
	for c := range k.conns {
		c.Close()
	}
	k.mu.Unlock()
	k.busy.Wait()
	if err := k.place.Close(); err != nil || removed {
		return errors.Join(err, k.unlock())
	}
	return errors.Join(k.writeEnds(), k.unlock())
}

// watch ends the keeper at a tick when the run's directory was removed and nobody is attached: a
// run that is attached ends its hosts itself.
func (k *keeper) watch(ticks <-chan time.Time) {
	for {
		select {
		case <-k.over:
			return
		case <-ticks:
		}
		k.mu.Lock()
		alone := k.control == nil
		k.mu.Unlock()
		if alone && isRemoved(k.place) {
			k.end("the run's directory was removed")
		}
	}
}

// end begins the keeper's end.
func (k *keeper) end(why string) {
	k.ending.Do(func() {
		k.say("ends: %s", why)
		close(k.over)
	})
}

// endAll ends all processes.
func (k *keeper) endAll() {
	k.mu.Lock()
	all := slices.Clone(k.hosted)
	k.mu.Unlock()
	var group sync.WaitGroup
	for _, h := range all {
		group.Go(func() {
			h.end(grace)
			h.mu.Lock()
			h.ended = true
			h.mu.Unlock()
			h.moved.Broadcast()
		})
	}
	group.Wait()
	k.run.End()
}

// say notes something in the keeper's log.
func (k *keeper) say(format string, args ...any) {
	fmt.Fprintf(k.log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}

// pause waits, unless the keeper ends.
func (k *keeper) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.over:
	}
}

// find gives a process; nil when there is none.
func (k *keeper) find(id ID) *hosted {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.findLocked(id)
}

func (k *keeper) findLocked(id ID) *hosted {
	for _, h := range k.hosted {
		if h.spec.ID == id {
			return h
		}
	}
	return nil
}

// start starts a process, once.
func (k *keeper) start(spec Spec) (*hosted, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.findLocked(spec.ID); h != nil {
		return h, nil
	}
	select {
	case <-k.over:
		return nil, context.Canceled
	default:
	}
	h, err := k.bear(spec)
	if err != nil {
		return nil, err
	}
	k.living++
	k.hosted = append(k.hosted, h)
	return h, nil
}

// fewer notes that nothing is left of one.
func (k *keeper) fewer() {
	k.mu.Lock()
	k.living--
	k.mu.Unlock()
	k.endIdle()
}

// endIdle ends the keeper when nobody is there and no host lives: how they ended stands in files.
func (k *keeper) endIdle() {
	k.mu.Lock()
	idle := k.living == 0 && k.control == nil && k.came
	k.mu.Unlock()
	if idle {
		k.end("its hosts have ended, and nobody is there")
	}
}
