package host

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Message is a message to a running host from outside the program.
type Message struct {
	Key       string // identifies the message; a message with a known key is not sent again
	Host      string // name of the host; "" for any
	Workspace string // name of the workspace or the isolated directory in which it works; "" for any
	Text      string
	Interrupt bool   // end the current turn; Text is the next prompt, or "" to fail the exchange
	By        string // one of the By constants of effect
	Name      string // name of the sender; "" if unknown
	MayBeSent bool   // an earlier Concerto process may have sent the message
	// Unrecorded is called if the host has received the message, but its exchange was closed before
	// the program's records contained it; may be nil.
	Unrecorded func()
}

// delivery describes the delivery of a message from outside the program.
type delivery struct{ host, outcome string }

// deliveries are the messages from outside the program that hosts have received, by key.
type deliveries struct {
	mu  lock[deliveriesLock]
	all map[string]delivery
}

func (d *deliveries) find(key string) (delivery, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x, ok := d.all[key]
	return x, ok
}

func (d *deliveries) add(key string, x delivery) {
	if key == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]delivery{}
	}
	d.all[key] = x
}

// SetDelivered records that a host has received a message with a key, according to the journal.
func (h *Hosts) SetDelivered(n *effect.SteeredNote) {
	h.delivered.add(n.Key, delivery{n.Host, n.Outcome})
}

// Running is a host that works on an exchange.
type Running struct {
	Host      string `json:"host"`
	Workspace string `json:"workspace,omitempty"`
}

// SelectError means that not exactly one running host matches a message.
type SelectError struct {
	Running []Running // hosts that match
	Others  []Running // hosts that do not match
}

// All returns the hosts that match or, if none does, all running hosts.
func (e *SelectError) All() []Running {
	if len(e.Running) > 0 {
		return e.Running
	}
	return e.Others
}

func (e *SelectError) Error() string {
	if len(e.Running) == 0 {
		return "no host is running"
	}
	return strconv.Itoa(len(e.Running)) + " hosts are running"
}

// Steer sends a message from outside the program to the only running host that matches it. It
// returns the host's name and the outcome; see the constants of effect. The program's records
// contain the message. The error is a *SelectError or an *effect.Error.
func (h *Hosts) Steer(ctx context.Context, m Message) (name, outcome string, err error) {
	if h.suspended.Load() {
		return "", "", ErrClosed
	}
	if past, ok := h.delivered.find(m.Key); ok {
		return past.host, past.outcome, nil
	}
	ex, err := h.selectExchange(&m)
	if err != nil {
		return "", "", err
	}
	if err := ex.checkRepeated(m.MayBeSent, m.Key); err != nil {
		return "", "", err
	}
	sent, err := ex.addMessage(steerNote{Key: m.Key, Text: m.Text, Interrupt: m.Interrupt, By: cmp.Or(m.By, effect.ByAnswer), Name: m.Name}, m.Unrecorded)
	if err != nil {
		return "", "", err
	}
	name = ex.pool.cfg.Name
	if outcome, err = ex.awaitOutcome(ctx, sent); err == nil {
		h.delivered.add(m.Key, delivery{name, outcome})
	}
	return name, outcome, err
}

// selectExchange returns the exchange that has received the message before, or the only running
// exchange that matches it.
func (h *Hosts) selectExchange(m *Message) (*exchange, error) {
	var found []*exchange
	e := &SelectError{}
	for _, ex := range h.allExchanges() {
		if ex.knows(m.Key) {
			return ex, nil
		}
		if !ex.isRunning() {
			continue
		}
		now := Running{ex.pool.cfg.Name, cmp.Or(ex.workspace, ex.dir.name())}
		if m.Host != "" && m.Host != now.Host || m.Workspace != "" && m.Workspace != now.Workspace {
			e.Others = append(e.Others, now)
			continue
		}
		found = append(found, ex)
		e.Running = append(e.Running, now)
	}
	if len(found) != 1 {
		return nil, e
	}
	return found[0], nil
}

// allExchanges returns the exchanges, also those that the program will open again, ordered by host,
// workspace and number.
func (h *Hosts) allExchanges() []*exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.AppendSeq(slices.Clone(h.resumed), maps.Values(h.exchanges))
	slices.SortFunc(all, func(a, b *exchange) int {
		return cmp.Or(cmp.Compare(a.pool.cfg.Name, b.pool.cfg.Name), cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.id, b.id))
	})
	return all
}

// knows reports whether the exchange has received the message with a key.
func (ex *exchange) knows(key string) bool {
	t := &ex.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	return key != "" && t.steering != nil && t.known[key] != nil
}

// isRunning reports whether the host is working on the exchange.
func (ex *exchange) isRunning() bool {
	t := &ex.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.ended && !ex.isDone() && !ex.inbox.isOver()
}
