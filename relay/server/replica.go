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

// Bus carries notifications between the servers on one database, so that they check at once. It may
// lose messages: servers also poll.
type Bus interface {
	// Publish sends a message if connected, without waiting.
	Publish(subject string, body []byte)
	// Subscribe receives later messages of others. A subject may end with ">".
	Subscribe(subject string, do func(subject string, body []byte)) error
	// Up reports whether it is connected.
	Up() bool
}

// checkSet is a set of things to check.
type checkSet uint

const (
	checkRuns     checkSet = 1 << iota // runs with new events
	checkHosts                         // commands and calls for hosts that are connected here
	checkCommands                      // states of commands that were given here
	checkCalls                         // answers to calls that were started here
	checkMail
	checkAll checkSet = 1<<iota - 1
)

// subjects maps checks to the subjects of their notifications. The subject for runs is
// run.ID.PREFIX, for mail mail.SERVER.
var subjects = map[checkSet]string{checkHosts: "look.hosts", checkCommands: "look.commands", checkCalls: "look.calls", checkMail: "look.mail"}

// peers represents the other servers on the same database. Their changes are found by polling the
// database, or at once after a notification over the bus. A server with a database of its own does
// not poll.
type peers struct {
	srv    *Server
	bus    Bus
	shared bool
	id     string // this server's id, unique for each start
	key    hpke.PrivateKey

	beating sync.Mutex
	beaten  time.Time
	joined  bool

	mu      sync.Mutex
	peers   map[string]hpke.PublicKey // the other live servers
	todo    checkSet
	lookers chan struct{} // signals work for the polling goroutine
	asked   map[secretKey]time.Time
	answers map[string]chan bool // replies to questions sent to other servers

	runsMu  sync.Mutex  // held while runs are checked
	since   int64       // the transaction from which to check; 0 before the first check
	begun   atomic.Bool // the first check is done; may be read without runsMu
	first   int64       // value of since at the first check, or when runs were last forgotten
	events  int64       // the last event at that time
	forgets forgetting
}

// The HPKE algorithms for mail.
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
		panic("server: no key can be made: " + err.Error()) // no randomness is available
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

// subscribe receives the notifications of the others.
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

// parseGrown parses run.ID.PREFIX.
func parseGrown(subject string) (run string, prefix int64, ok bool) {
	rest, _ := strings.CutPrefix(subject, "run.")
	run, number, _ := strings.Cut(rest, ".")
	_, err := fmt.Sscanf(number, "%d", &prefix)
	return run, prefix, err == nil
}

// publishGrown notifies the others that a run's prefix has grown.
func (o *peers) publishGrown(run string, prefix int64) {
	if o.bus != nil {
		o.bus.Publish(fmt.Sprintf("run.%s.%d", run, prefix), nil)
	}
}

// notify makes the others check something.
func (o *peers) notify(what checkSet) {
	if o.bus != nil {
		o.bus.Publish(subjects[what], nil)
	}
}

// schedule makes this server check something soon.
func (o *peers) schedule(what checkSet) {
	o.mu.Lock()
	o.todo |= what
	o.mu.Unlock()
	select {
	case o.lookers <- struct{}{}:
	default:
	}
}

// beat renews this server's lease and finds the other live servers.
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

// refreshPeers loads the live servers.
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

// leave records that this server has stopped.
func (o *peers) leave(ctx context.Context) {
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

// isElsewhere reports whether another live server has a host.
func (o *peers) isElsewhere(h *store.Host) bool {
	return o.shared && h.Alive && h.Replica != o.id
}

// hasHost is like has, for a host's id.
func (o *peers) hasHost(ctx context.Context, id string) bool {
	if !o.shared {
		return false
	}
	h, err := o.srv.store.Host(ctx, id)
	return err == nil && o.isElsewhere(h)
}

// isRival reports whether a process with the same state as a connecting host is connected elsewhere
// and alive.
func (o *peers) isRival(h *host, epoch int64, instance string) bool {
	if !o.shared {
		return false
	}
	was, err := o.srv.store.Host(o.srv.ctx, h.id)
	if err != nil || !o.isElsewhere(was) || was.Epoch != epoch || was.Instance == "" || was.Instance == instance {
		return false
	}
	return o.isAlive(was)
}
