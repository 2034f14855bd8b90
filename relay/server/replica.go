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

// Bus carries words between the servers on one database, so that they look at once. It may lose
// them: what is not heard of is found by looking now and then.
type Bus interface {
	// Publish sends, if it is connected; it does not wait.
	Publish(subject string, body []byte)
	// Subscribe hears what others send, from now on. A subject may end with ">".
	Subscribe(subject string, do func(subject string, body []byte)) error
	// Up says whether it is connected.
	Up() bool
}

// look is what there may be to look for.
type look uint

const (
	lookRuns     look = 1 << iota // runs of which there is more
	lookHosts                     // what waits for hosts that are here
	lookCommands                  // what has become of commands that were given here
	lookCalls                     // answers of calls that were asked here
	lookMail
	lookAll look = 1<<iota - 1
)

// looks are the subjects by which servers tell each other where to look. Of runs it is
// run.ID.PREFIX, and mail.SERVER is mail itself.
var looks = map[look]string{lookHosts: "look.hosts", lookCommands: "look.commands", lookCalls: "look.calls", lookMail: "look.mail"}

// others are the servers beside this one on its database. What they have done is found in the
// database, each quarter of a second, or at once when a word of it comes over the bus. Where a
// server has the database for itself nobody looks.
type others struct {
	srv    *Server
	bus    Bus
	shared bool
	id     string // this server's, as long as it runs
	key    hpke.PrivateKey

	beating sync.Mutex
	beaten  time.Time
	joined  bool

	mu      sync.Mutex
	peers   map[string]hpke.PublicKey // those that live, besides this one
	todo    look
	lookers chan struct{} // there is something to do
	asked   map[secretKey]time.Time
	answers map[string]chan bool // of questions to other servers

	runsMu  sync.Mutex  // while runs are looked at
	since   int64       // from which transaction on; 0 before the first look
	begun   atomic.Bool // the first look is over; read without runsMu
	first   int64       // the since of the first look, or of when runs were forgotten last
	events  int64       // the last event at the first look, or before runs were forgotten last
	forgets forgetting
}

// The parts of HPKE that mail is sealed with.
func kem() hpke.KEM   { return hpke.DHKEM(ecdh.X25519()) }
func kdf() hpke.KDF   { return hpke.HKDFSHA256() }
func aead() hpke.AEAD { return hpke.AES256GCM() }

const mailInfo = "concerto-relay-mail-v1"

func newOthers(s *Server, bus Bus) *others {
	o := &others{srv: s, bus: bus, shared: s.store.Shared(), id: strings.ToLower(rand.Text()), peers: map[string]hpke.PublicKey{}, asked: map[secretKey]time.Time{},
		answers: map[string]chan bool{}, lookers: make(chan struct{}, 1), forgets: forgetting{most: knownRuns}}
	if !o.shared {
		o.bus = nil
		return o
	}
	var err error
	if o.key, err = kem().GenerateKey(); err != nil {
		panic("server: no key can be made: " + err.Error()) // as when there is no randomness
	}
	return o
}

// start begins to look after the others.
func (o *others) start() {
	o.beat(o.srv.clock.Now())
	if !o.shared {
		return
	}
	if o.bus != nil {
		o.listen()
	}
	o.srv.work.Go(o.look)
}

// listen hears what the others tell.
func (o *others) listen() {
	hear := func(subject string, do func(subject string, body []byte)) {
		if err := o.bus.Subscribe(subject, do); err != nil {
			o.srv.log.Error("what other servers tell cannot be heard, and is looked for", slog.String("subject", subject), slog.Any("error", err))
		}
	}
	hear("run.>", func(subject string, _ []byte) {
		if run, prefix, ok := grownRun(subject); ok {
			if known, ok := o.srv.hub.knows(run); !ok || known < prefix {
				o.kick(lookRuns)
			}
		}
	})
	for what, subject := range looks {
		hear(subject, func(string, []byte) { o.kick(what) })
	}
	hear("mail."+o.id, func(_ string, body []byte) { o.open(string(body)) })
}

// grownRun reads run.ID.PREFIX.
func grownRun(subject string) (run string, prefix int64, ok bool) {
	rest, _ := strings.CutPrefix(subject, "run.")
	run, number, _ := strings.Cut(rest, ".")
	_, err := fmt.Sscanf(number, "%d", &prefix)
	return run, prefix, err == nil
}

// grown tells the others that a run's prefix has grown.
func (o *others) grown(run string, prefix int64) {
	if o.bus != nil {
		o.bus.Publish(fmt.Sprintf("run.%s.%d", run, prefix), nil)
	}
}

// tell has the others look for something.
func (o *others) tell(what look) {
	if o.bus != nil {
		o.bus.Publish(looks[what], nil)
	}
}

// kick has this server look for something soon.
func (o *others) kick(what look) {
	o.mu.Lock()
	o.todo |= what
	o.mu.Unlock()
	select {
	case o.lookers <- struct{}{}:
	default:
	}
}

// beat says that this server lives, and finds who else does.
func (o *others) beat(now time.Time) {
	o.beating.Lock()
	defer o.beating.Unlock()
	if o.joined && (!o.shared || now.Sub(o.beaten) < protocol.ReplicaHeartbeat) {
		return
	}
	o.beaten = now
	ctx := o.srv.ctx
	err := store.ErrUnknown
	if o.joined {
		err = o.srv.store.Beat(ctx, o.id)
	}
	if errors.Is(err, store.ErrUnknown) { // it was silent for too long, or is new
		err = o.srv.store.Join(ctx, store.Replica{ID: o.id, Key: o.publicKey()})
	}
	if err == nil {
		o.joined = true
		err = o.meet(ctx)
	}
	if err != nil && ctx.Err() == nil {
		o.srv.log.Error("other servers may not know that this one lives", slog.Any("error", err))
	}
}

func (o *others) publicKey() string {
	if o.key == nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(o.key.PublicKey().Bytes())
}

// meet finds the servers that live.
func (o *others) meet(ctx context.Context) error {
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

// leave says that this server has ended.
func (o *others) leave(ctx context.Context) {
	if !o.shared {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	if err := o.srv.store.Leave(ctx, o.id); err != nil {
		o.srv.log.Warn("other servers do not know yet that this one has ended", slog.Any("error", err))
	}
}

const leaveWithin = time.Second

// has says whether another server that lives has a host.
func (o *others) has(h *store.Host) bool {
	return o.shared && h.Alive && h.Replica != o.id
}

// hasHost says the same by the host's id.
func (o *others) hasHost(ctx context.Context, id string) bool {
	if !o.shared {
		return false
	}
	h, err := o.srv.store.Host(ctx, id)
	return err == nil && o.has(h)
}

// isRival says whether a process with the same state as a host that comes is connected elsewhere, and
// is there.
func (o *others) isRival(h *host, epoch int64, instance string) bool {
	if !o.shared {
		return false
	}
	was, err := o.srv.store.Host(o.srv.ctx, h.id)
	if err != nil || !o.has(was) || was.Epoch != epoch || was.Instance == "" || was.Instance == instance {
		return false
	}
	return o.isThere(was)
}
