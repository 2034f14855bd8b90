package keeper

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// config is the configuration that a keeper receives on its standard input.
type config struct {
	Dir        string `json:"dir"` // the run's directory
	Run        string `json:"run"` // its id
	Executable string `json:"executable"`
	OrphanMS   int64  `json:"orphan_ms"`
	Owner      int64  `json:"owner"`
	Token      string `json:"token"`
}

// ready is the message in which a keeper reports that it accepts connections, or why it could not
// start.
type ready struct {
	Error string `json:"error,omitempty"`
	Held  bool   `json:"held,omitempty"` // another keeper is running or starting
}

// keeper is the state of the keeper process.
type keeper struct {
	config
	system    System
	files     disk.Files // in the directory of the run
	run       *procgroup.Run
	start     StartFunc
	boot      string
	log       io.Writer
	redactor  redactor
	listener  Listener
	addressFD disk.File      // open file keeper.json; shows whether the directory of the run was removed
	unlock    func() error   // releases the lock file
	workers   sync.WaitGroup // counts the goroutines of hosts and connections
	done      chan struct{}  // closed when the keeper begins to end
	endOnce   sync.Once

	mu     sync.Mutex
	hosted []*hosted
	living int // number of processes that have not exited
	clients
}

// clients holds the connections of clients.
type clients struct {
	owner       int64                    // highest owner number so far
	control     *holder.Peer             // control connection of the current owner
	orphanTimer *time.Timer              // ends the keeper if no client connects in time
	hadClient   bool                     // at least one client has connected
	conns       map[Socket]chan struct{} // open connections; each channel is closed when its connection is no longer served
	admitted    map[Socket]bool          // connections of the current owner
	leaving     map[Socket]chan struct{} // connections of earlier owners that are still served
}

// StartFunc starts a process of a run in a sandbox; see confine.Start.
type StartFunc func(run *procgroup.Run, c procgroup.Command, s *sandbox.Confinement, blocked func(address string)) (*procgroup.Process, error)

// Main runs the keeper. It reads its configuration from in, writes to out when it accepts
// connections, and returns when the hosts of the run have exited or are no longer needed.
//
// start starts the processes that have a sandbox. If it is nil, they are not started.
func Main(in io.Reader, out io.Writer, log io.Writer, start StartFunc) error {
	return MainOn(OS(), in, out, log, start)
}

// MainOn is like Main, on another system.
func MainOn(s System, in io.Reader, out io.Writer, log io.Writer, start StartFunc) error {
	var c config
	if json.NewDecoder(in).Decode(&c) != nil {
		return ErrNoConfig
	}
	k, err := newKeeper(s, c, log, start)
	status := ready{}
	if err != nil {
		status.Error, status.Held = err.Error(), errors.Is(err, lockfile.ErrHeld)
	}
	_ = json.NewEncoder(out).Encode(status) // if the starting process has exited, no client will connect
	if c, ok := out.(io.Closer); ok {
		c.Close()
	}
	if err != nil {
		return err
	}
	return k.serveUntilEnd()
}

func newKeeper(s System, c config, log io.Writer, start StartFunc) (*keeper, error) {
	k := &keeper{config: c, system: s, files: s.Files(c.Dir), start: start, run: &procgroup.Run{ID: c.Run, Executable: c.Executable, KeeperName: newToken()[:8]}, boot: s.Boot(), log: log, done: make(chan struct{}),
		clients: clients{owner: c.Owner, conns: map[Socket]chan struct{}{}, admitted: map[Socket]bool{}, leaving: map[Socket]chan struct{}{}}}
	unlock, err := lock(k.files)
	if err != nil {
		return nil, err
	}
	k.unlock = unlock
	sweepBridges(k.files) // the lock guarantees that no other keeper uses these bridges
	door, at, err := s.Listen(c.Dir, socketFile)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	k.listener = door
	if err := k.files.Dir(hostsDir); err != nil { // its name is synced together with that of the address
		return nil, errors.Join(err, door.Close())
	}
	a := address{Socket: at, Token: k.Token, Boot: k.boot, PID: os.Getpid()}
	if err := putJSON(k.files, addressFile, a); err != nil {
		return nil, errors.Join(err, door.Close())
	}
	if k.addressFD, err = k.files.Open(addressFile, os.O_RDONLY, 0); err != nil {
		return nil, errors.Join(err, door.Close())
	}
	return k, nil
}

// lock locks the lock file of the keeper of a run.
func lock(files disk.Files) (unlock func() error, err error) {
	return files.Lock(lockFile, func() int { return 0 }) // an unknown process
}

// newToken returns a random token for keeper.json.
func newToken() string { return rand.Text() }

// serveUntilEnd runs until the keeper ends.
func (k *keeper) serveUntilEnd() error {
	stop := k.system.Terminated()
	k.mu.Lock()
	k.orphanTimer = time.AfterFunc(firstConnectTimeout, func() { k.beginEnd("no client has connected") })
	k.mu.Unlock()
	go k.acceptLoop()
	ticker := time.NewTicker(removedCheckInterval)
	defer ticker.Stop()
	go k.watchRemoval(ticker.C)
	select {
	case <-stop:
		k.beginEnd("it received SIGTERM")
		<-k.done
	case <-k.done:
	}
	k.listener.Close()
	k.endAll()
	removed := k.addressFD.IsRemoved() // if the directory was removed, another run may use the path
	if !removed {
		_ = k.files.Remove(addressFile) // clients that connect later must find no keeper
	}
	k.closeConns()
	k.workers.Wait()
	if err := k.addressFD.Close(); err != nil || removed {
		return errors.Join(err, k.unlock())
	}
	return errors.Join(k.writeEnds(), k.unlock())
}

// closeConns closes the connections of all clients.
func (k *keeper) closeConns() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.conns {
		c.Close()
	}
}

// watchRemoval checks at each tick whether the directory of the run was removed. If it was and no
// client is connected, watchRemoval ends the keeper. A connected run ends its hosts itself.
func (k *keeper) watchRemoval(ticks <-chan time.Time) {
	for {
		select {
		case <-k.done:
			return
		case <-ticks:
		}
		k.mu.Lock()
		alone := k.control == nil
		k.mu.Unlock()
		if alone && k.addressFD.IsRemoved() {
			k.beginEnd("the run's directory was removed")
		}
	}
}

// beginEnd begins to end the keeper and logs the reason.
func (k *keeper) beginEnd(why string) {
	k.endOnce.Do(func() {
		k.logf("ends: %s", why)
		close(k.done)
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
			h.endProcess(grace)
			h.awaitLastOutput()
			h.mu.Lock()
			h.keeperEnded = true
			h.mu.Unlock()
			h.changed.Broadcast()
		})
	}
	group.Wait()
	k.run.End()
}

// logf writes to the keeper's log.
func (k *keeper) logf(format string, args ...any) {
	fmt.Fprintf(k.log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}

// sleep waits until d has passed or the keeper begins to end.
func (k *keeper) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.done:
	}
}

// findHosted returns the process with the given ID, or nil.
func (k *keeper) findHosted(id ID) *hosted {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.findHostedLocked(id)
}

func (k *keeper) findHostedLocked(id ID) *hosted {
	for _, h := range k.hosted {
		if h.spec.ID == id {
			return h
		}
	}
	return nil
}

// startHosted starts a process. If it was already started, startHosted returns it.
func (k *keeper) startHosted(spec Spec) (*hosted, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.findHostedLocked(spec.ID); h != nil {
		return h, nil
	}
	select {
	case <-k.done:
		return nil, context.Canceled
	default:
	}
	h, err := k.spawnHosted(spec)
	if err != nil {
		return nil, err
	}
	k.living++
	k.hosted = append(k.hosted, h)
	return h, nil
}

// noteExit records that a process and its children have exited.
func (k *keeper) noteExit() {
	k.mu.Lock()
	k.living--
	k.mu.Unlock()
	k.endIfIdle()
}

// endIfIdle ends the keeper if no client is connected and no host is running. The end records
// contain the exits of the hosts.
func (k *keeper) endIfIdle() {
	k.mu.Lock()
	idle := k.living == 0 && k.control == nil && k.hadClient
	k.mu.Unlock()
	if idle {
		k.beginEnd("its hosts have exited, and no client is connected")
	}
}
