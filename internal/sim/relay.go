package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/relay/hostd"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	relayserver "github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/server/push"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
	"github.com/concerto-lang/concerto/relay/store"
	"github.com/concerto-lang/concerto/relay/store/sqlite"
)

// relay is a world with a machine on which programs and hostd run, a server on another machine, and
// two phones.
type relay struct {
	*world
	plan  *RelaySchedule
	disks relayDisks
	seen  relayRecord
	phase relayPhase
}

// relayDisks contains the disks of the other machines.
type relayDisks struct{ server, phones *simdisk.Disk }

// relayRecord contains the parts of the world that are not simulated processes, and what they have
// seen.
type relayRecord struct {
	pushes   *pushtest.Service
	phones   []*phone
	jobs     []*job
	streams  map[string][]string  // events of runs as the first phone has received them, by run
	asked    map[string]*question // by title and id
	commands []*userCommand       // in the order in which they were sent first
	serial   int                  // number of the last answer or message
	order    int                  // of the last question or subscription
	servers  int                  // processes of the server
}

// next returns the order of a question or a subscription. The caller has locked r.mu.
func (s *relayRecord) next() int {
	s.order++
	return s.order
}

// relayPhase is how far the world is.
type relayPhase struct {
	isQuiet bool // no more faults happen
	isOver  bool // the processes must end
	ctx     context.Context
}

// The addresses of the network.
const (
	serverAddress = "127.0.0.1:8080"
	pushAddress   = "127.0.0.1:9090"
	hostdAddress  = "hostd"
)

// users are the people with a phone.
var users = []string{"ann", "bob"}

// Figures of the relay's world.
const (
	maxQuiet  = 20 * time.Minute // after which the scripts of the programs must have ended
	settleFor = 4 * time.Minute  // for connections that wait before they try again
	showsFor  = 5 * time.Second  // within which a phone shows an open request
	restarts  = 40
)

// Play runs a schedule in a bubble, with files below a real directory that it empties.
func (s *RelaySchedule) Play(t *testing.T, base string) *Result {
	t.Helper()
	cryptotest.SetGlobalRandom(t, s.Order) // ids of runs and tokens
	gateReads()
	var r *relay
	one := &Schedule{Choices: s.Choices}
	return one.play(t, base, func(w *world) {
		w.wires = newWires()
		r = &relay{world: w, plan: s, seen: relayRecord{streams: map[string][]string{}, asked: map[string]*question{}}}
		w.gate.reached = r.reached
		r.disks.server, r.disks.phones = r.newDisk("server"), r.newDisk("phones")
		r.install(t)
	}, func(ctx context.Context, w *world) {
		r.phase.ctx = ctx
		r.play()
		r.judge(ctx)
		r.disks.server.Close()
		r.disks.phones.Close()
	})
}

// newDisk returns the disk of another machine.
func (r *relay) newDisk(machine string) *simdisk.Disk {
	scratch := filepath.Join(r.base, "scratch-"+machine)
	if err := os.Mkdir(scratch, 0o700); err != nil {
		panic(err) // the directory was just emptied
	}
	d := simdisk.New(simdisk.Options{Seed: r.plan.Order + uint64(len(machine)), Scratch: scratch, Observe: r.observe})
	d.MkdirAll(r.base)
	return d
}

// install creates the server's database with its users, before the first fault.
func (r *relay) install(t *testing.T) {
	p := r.startOn(r.disks.server, "installer")
	ctx := context.Background()
	db, err := sqlite.OpenOn(ctx, p.view.VFS(), r.database())
	if err != nil {
		t.Fatal(err)
	}
	a := auth.New(auth.Config{Store: db, Guard: httpguard.New(httpguard.Config{Loopback: true})})
	by := audit.Actor{Type: "user", Name: "ann"}
	r.seen.pushes = pushtest.At(t, "http://"+pushAddress)
	for _, user := range users {
		_, err := a.PutUser(ctx, by, user, auth.Owner, "unused")
		_, token, err2 := a.NewToken(ctx, by, user, auth.NewToken{Name: "phone", Role: auth.Owner})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		r.seen.phones = append(r.seen.phones, &phone{r: r, user: user, token: token})
	}
	a.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func (r *relay) database() string { return filepath.Join(r.base, "relay.db") }

// play runs all processes until the programs have ended and the phones have had time to show that.
func (r *relay) play() {
	pushService := &http.Server{Handler: r.seen.pushes}
	service := &process{name: "push", world: r.world, ended: make(chan struct{})}
	l := r.wires.listen(service, pushAddress)
	var pushing sync.WaitGroup
	pushing.Go(func() { _ = pushService.Serve(l) }) // ends with http.ErrServerClosed
	ends := []func(){r.keep(r.disks.server, "server", r.serve), r.keep(r.disk, "hostd", r.hostd)}
	for _, x := range r.seen.phones {
		ends = append(ends, r.keep(r.disks.phones, x.user, x.run))
	}
	var scripts sync.WaitGroup
	for i := range r.plan.Jobs {
		j := newJob(r, i)
		r.seen.jobs = append(r.seen.jobs, j)
		scripts.Go(j.play)
	}
	late := time.AfterFunc(maxQuiet, func() { r.failed("J16", "a program waits after %s", maxQuiet) })
	scripts.Wait()
	late.Stop()
	r.calm()
	for _, j := range r.seen.jobs {
		j.epilogue()
	}
	time.Sleep(settleFor)
	r.mu.Lock()
	r.phase.isOver = true
	r.mu.Unlock()
	r.gate.endTrace() // what the processes do at their end, they do at the same time
	for _, end := range slices.Backward(ends) {
		end()
	}
	_ = pushService.Close() // it has nothing to flush
	pushing.Wait()
}

// calm ends the faults, and lets the processes connect.
func (r *relay) calm() {
	r.mu.Lock()
	r.phase.isQuiet = true
	r.mu.Unlock()
	r.disk.StopFaults()
	r.disks.server.StopFaults()
	time.Sleep(settleFor)
}

// keep starts a process, and starts it again when it has ended, until end is called, which returns
// when it has ended.
func (r *relay) keep(d *simdisk.Disk, name string, run func(ctx context.Context, p *process) error) (end func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		r.restart(d, name, run, over)
	}()
	return func() { close(over); <-done }
}

// restart starts a process, and starts it again when it has ended, until over is closed.
func (r *relay) restart(d *simdisk.Disk, name string, run func(ctx context.Context, p *process) error, over chan struct{}) {
	for n := 1; n <= restarts; n++ {
		p := r.startOn(d, fmt.Sprintf("%s#%d", name, n))
		ctx, cancel := context.WithCancelCause(context.Background())
		p.cancel = cancel
		stop := make(chan struct{})
		go func() {
			select {
			case <-over:
				r.gate.pass(p, "ends")
				cancel(nil)
			case <-stop:
			}
		}()
		if r.gate.pass(p, "starts") {
			err := run(ctx, p)
			r.mu.Lock()
			if !p.dead.Load() {
				r.note(p.name, "exits: %v", err)
			}
			r.mu.Unlock()
		}
		close(stop)
		cancel(nil)
		r.world.end(p)
		select {
		case <-over:
			return
		case <-time.After(time.Duration(300+len(name)*31+7*n) * time.Millisecond): // no two processes need the same time
		}
	}
}

// hostd runs the daemon of the programs' machine.
func (r *relay) hostd(ctx context.Context, p *process) error {
	o := hostd.Options{Server: "http://" + serverAddress, MachineID: "host_a", Token: "the machine's token", State: filepath.Join(r.base, "work"), Socket: "unused",
		Roots: []string{r.base}, Environ: []string{}, Version: "sim", Log: r.logger(p)}
	o.SetSeams(hostd.Seams{Listen: func() (net.Listener, error) { return r.wires.listen(p, hostdAddress), nil }, VFS: p.view.VFS(), BeforeBatch: r.beforeBatch(p), HTTP: r.wires.client(p),
		Random: func() float64 { return float64(chance(r.plan.Order, p.name)%1000) / 1000 }})
	d, err := hostd.Open(ctx, o)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Run(ctx)
}

// serve runs the relay's server.
func (r *relay) serve(ctx context.Context, p *process) error {
	r.mu.Lock()
	r.seen.servers++
	r.mu.Unlock()
	db, err := sqlite.OpenOn(ctx, p.view.VFS(), r.database())
	if err != nil {
		return err
	}
	g, log := httpguard.New(httpguard.Config{Loopback: true}), r.logger(p)
	a := auth.New(auth.Config{Store: db, Guard: g, TOFU: auth.TOFULoopback, Log: log})
	defer func() {
		a.Close()
		_ = db.Close() // it fails if the process is dead
	}()
	pushes, err := push.New(withReader(ctx, p), push.Config{Store: db, Auth: a, Insecure: true, Log: log, Dial: func(ctx context.Context, _, address string) (net.Conn, error) { return r.wires.dial(ctx, p, address) }})
	if err != nil {
		return err
	}
	defer pushes.Close()
	s := relayserver.New(relayserver.Config{Store: db, Auth: a, Version: "sim", Watch: pushes, More: pushes.Routes(), BeforeBatch: r.beforeBatch(p), Log: log})
	h := &http.Server{Handler: g.Wrap(s), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	l := r.wires.listen(p, serverAddress)
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	<-ctx.Done()
	s.Close()
	_ = h.Close() // what it serves has ended
	<-served
	return nil
}

// beforeBatch returns a function that lets a process begin a batch when all goroutines wait, so
// that what the batch contains does not depend on the order in which they run.
func (r *relay) beforeBatch(p *process) func() {
	return func() { r.gate.pass(p, "commits") }
}

// logger returns a log whose warnings are part of the story.
func (r *relay) logger(p *process) *slog.Logger { return slog.New(&storyLog{r, p}) }

type storyLog struct {
	r *relay
	p *process
}

func (l *storyLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *storyLog) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *storyLog) WithGroup(string) slog.Handler                    { return l }

func (l *storyLog) Handle(_ context.Context, rec slog.Record) error {
	if l.p.dead.Load() {
		return nil
	}
	var b strings.Builder
	rec.Attrs(func(a slog.Attr) bool {
		if a.Key != "why" { // of two reasons for the end of a connection, the library reports any
			fmt.Fprintf(&b, " %s", a)
		}
		return true
	})
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.note(l.p.name, "logs %s%s", rec.Message, &b)
	return nil
}

// checkStores checks that the spool and the server's database are as they must be after all runs.
func (r *relay) checkStores(ctx context.Context) error {
	p := r.start("reader")
	s, err := spool.Open(ctx, filepath.Join(r.base, "work", "spool.db"), spool.Options{VFS: p.view.VFS()})
	if err != nil {
		return err
	}
	for _, x := range s.Runs() {
		if !x.Ended || x.Acked < x.Last {
			r.failed("J12", "the spool has the run %s of which %d of %d events are acknowledged, ended: %v", x.ID, x.Acked, x.Last, x.Ended)
		}
	}
	results, err := s.Results(ctx, 0)
	for _, x := range results {
		r.failed("J12", "the spool has the result of %s %s", x.Kind, x.ID)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	reader := r.startOn(r.disks.server, "reader")
	db, err := sqlite.OpenOn(ctx, reader.view.VFS(), r.database())
	if err != nil {
		return err
	}
	for _, j := range r.seen.jobs {
		if run := j.runID(); run != "" {
			r.checkRun(ctx, db, j, run)
		}
	}
	return db.Close()
}

// checkRun compares a stored run with what the phones have received.
func (r *relay) checkRun(ctx context.Context, db *store.Store, j *job, run string) {
	all, err := db.Events(ctx, run, 0, 100_000)
	if err != nil && !errors.Is(err, store.ErrUnknown) {
		r.failed("J17", "the events of %s cannot be read: %v", j.title, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(all) != len(r.seen.streams[run]) {
		r.fail("J8", "the server has %d events of %s, and the phones have received %d", len(all), j.title, len(r.seen.streams[run]))
	}
	if open, err := db.Requests(ctx, run); err != nil || len(open) > 0 {
		r.fail("J12", "the server has %d open requests of %s (error %v)", len(open), j.title, err)
	}
}
