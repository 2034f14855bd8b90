package server

import (
	"context"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// Bus carries notifications between the servers on one database, so that a server finds the changes
// of another at once. The bus may lose messages, because the servers also poll the database.
type Bus interface {
	// Publish sends a message if the bus is connected. It does not wait.
	Publish(subject string, body []byte)
	// Subscribe calls do for each later message of other servers. A subject that ends with ">"
	// matches all subjects with that prefix.
	Subscribe(subject string, do func(subject string, body []byte)) error
	// Up reports whether the bus is connected.
	Up() bool
}

// checkSet is a set of kinds of changes for which the database is checked.
type checkSet uint

const (
	checkRuns     checkSet = 1 << iota // runs with new events
	checkMachines                      // commands and calls for machines that are connected to this server
	checkCommands                      // states of commands that this server accepted
	checkCalls                         // answers to calls that this server started
	checkMail
	checkAll checkSet = 1<<iota - 1
)

// subjects maps each kind of check to the subject of its notification. Notifications about runs
// have the subject run.ID.PREFIX, and those about mail mail.SERVER.
var subjects = map[checkSet]string{checkMachines: "look.hosts", checkCommands: "look.commands", checkCalls: "look.calls", checkMail: "look.mail"}

// peers represents the other servers on the same database. This server finds their changes by
// polling the database, and at once after a notification over the bus. It does not poll if the
// database is not shared.
type peers struct {
	srv    *Server
	bus    Bus
	shared bool
	id     string // this server's id, new at each start
	key    hpke.PrivateKey

	beating sync.Mutex
	beaten  time.Time
	joined  bool

	mu      sync.Mutex
	peers   map[string]hpke.PublicKey // keys of the other live servers by server id
	todo    checkSet
	lookers chan struct{} // wakes the polling goroutine
	asked   map[secretKey]time.Time
	answers map[string]chan bool // pending questions to other servers by id; the channel receives the reply

	runsMu  sync.Mutex  // held during a check of the runs
	since   int64       // number of the transaction after which the next check begins; 0 before the first check
	begun   atomic.Bool // whether the first check is done; readable without runsMu
	first   int64       // value of since at the first check, or when runs were last forgotten
	events  int64       // number of the last event when first was set
	forgets forgetting
}

// kem, kdf and aead return the HPKE algorithms for letters.
func kem() hpke.KEM   { return hpke.DHKEM(ecdh.X25519()) }
func kdf() hpke.KDF   { return hpke.HKDFSHA256() }
func aead() hpke.AEAD { return hpke.AES256GCM() }

const mailInfo = "concerto-relay-mail-v1"

func newOthers(s *Server, bus Bus) *peers {
	o := &peers{srv: s, bus: bus, shared: s.store.Shared(), id: strings.ToLower(rand.Text()), peers: map[string]hpke.PublicKey{}, asked: map[secretKey]time.Time{},
		answers: map[string]chan bool{}, lookers: make(chan struct{}, 1), forgets: forgetting{most: maxCachedRuns}}
	if !o.shared {
		o.bus = nil
		return o
	}
	var err error
	if o.key, err = kem().GenerateKey(); err != nil {
		panic("server: no key can be made: " + err.Error()) // the system's source of randomness failed
	}
	return o
}

// start starts the heartbeat and polling.
func (o *peers) start() {
	o.beat(o.srv.clock.Now())
	if !o.shared {
		return
	}
	if o.bus != nil {
		o.subscribe()
	}
	o.srv.work.Go(o.pollLoop)
}

// subscribe subscribes to the notifications of the other servers.
func (o *peers) subscribe() {
	subscribe := func(subject string, do func(subject string, body []byte)) {
		if err := o.bus.Subscribe(subject, do); err != nil {
			o.srv.log.Error("notifications from other servers are not available; polling the database instead", slog.String("subject", subject), slog.Any("error", err))
		}
	}
	subscribe("run.>", func(subject string, _ []byte) {
		if run, prefix, ok := parseGrown(subject); ok {
			if cached, ok := o.srv.hub.prefix(run); !ok || cached < prefix {
				o.schedule(checkRuns)
			}
		}
	})
	for what, subject := range subjects {
		subscribe(subject, func(string, []byte) { o.schedule(what) })
	}
	subscribe("mail."+o.id, func(_ string, body []byte) { o.open(string(body)) })
}

// parseGrown parses the subject run.ID.PREFIX.
func parseGrown(subject string) (run string, prefix int64, ok bool) {
	rest, _ := strings.CutPrefix(subject, "run.")
	run, number, _ := strings.Cut(rest, ".")
	_, err := fmt.Sscanf(number, "%d", &prefix)
	return run, prefix, err == nil
}

// publishGrown notifies the other servers that a run's prefix has grown.
func (o *peers) publishGrown(run string, prefix int64) {
	if o.bus != nil {
		o.bus.Publish(fmt.Sprintf("run.%s.%d", run, prefix), nil)
	}
}

// notify notifies the other servers of a kind of change.
func (o *peers) notify(what checkSet) {
	if o.bus != nil {
		o.bus.Publish(subjects[what], nil)
	}
}

// schedule makes the polling goroutine of this server check for changes soon.
func (o *peers) schedule(what checkSet) {
	o.mu.Lock()
	o.todo |= what
	o.mu.Unlock()
	select {
	case o.lookers <- struct{}{}:
	default:
	}
}

// beat renews this server's lease and loads the list of the other live servers.
func (o *peers) beat(now time.Time) {
	o.beating.Lock()
	defer o.beating.Unlock()
	if o.joined && (!o.shared || now.Sub(o.beaten) < protocol.ReplicaHeartbeat) {
		return
	}
	o.beaten = now
	ctx := o.srv.ctx
	err := store.ErrUnknown
	if o.joined {
		err = o.srv.store.RenewLease(ctx, o.id)
	}
	if errors.Is(err, store.ErrUnknown) { // the lease has expired, or this server is new
		err = o.srv.store.Join(ctx, store.Replica{ID: o.id, Key: o.publicKey()})
	}
	if err == nil {
		o.joined = true
		err = o.refreshPeers(ctx)
	}
	if err != nil && ctx.Err() == nil {
		o.srv.log.Error("could not report to other servers that this one is running", slog.Any("error", err))
	}
}

func (o *peers) publicKey() string {
	if o.key == nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(o.key.PublicKey().Bytes())
}

// refreshPeers loads the list of live servers and their keys.
func (o *peers) refreshPeers(ctx context.Context) error {
	if !o.shared {
		return nil
	}
	all, err := o.srv.store.Replicas(ctx)
	if err != nil {
		return err
	}
	live := map[string]hpke.PublicKey{}
	for _, r := range all {
		key, err := base64.RawURLEncoding.DecodeString(r.Key)
		if err != nil || r.ID == o.id {
			continue
		}
		if live[r.ID], err = kem().NewPublicKey(key); err != nil {
			return fmt.Errorf("the key of server %s: %w", r.ID, err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.peers = live
	return nil
}

// deregister records that this server has stopped.
func (o *peers) deregister(ctx context.Context) {
	if !o.shared {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := o.srv.store.Leave(ctx, o.id); err != nil {
		o.srv.log.Warn("could not report to other servers that this one has stopped", slog.Any("error", err))
	}
}

const leaveTimeout = time.Second

// isElsewhere reports whether a machine is connected to another live server.
func (o *peers) isElsewhere(h *store.Machine) bool {
	return o.shared && h.Alive && h.Replica != o.id
}

// hasMachine is like isElsewhere, for a machine id.
func (o *peers) hasMachine(ctx context.Context, id string) bool {
	if !o.shared {
		return false
	}
	h, err := o.srv.store.Machine(ctx, id)
	return err == nil && o.isElsewhere(h)
}

// isRival reports whether another connection uses the same machine state as the connecting machine
// h, and its process is connected to another server and responds.
func (o *peers) isRival(h *machine, epoch int64, instance string) bool {
	if !o.shared {
		return false
	}
	was, err := o.srv.store.Machine(o.srv.ctx, h.id)
	if err != nil || !o.isElsewhere(was) || was.Epoch != epoch || was.Instance == "" || was.Instance == instance {
		return false
	}
	return o.isAlive(was)
}
