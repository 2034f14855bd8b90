package server

import (
	"encoding/json"
	"sync"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// commands says who wants to hear what becomes of which command. The commands are the
// store's.
type commands struct {
	mu    sync.Mutex
	watch map[store.CommandKey]map[*app]heard
	// secret are payloads that may not be stored: they are lost with the server.
	secret map[secretKey]json.RawMessage
}

// heard is what an app has heard of last: a state of the command of this number, nothing before the
// command is accepted.
type heard struct {
	state string
	n     int64
}

func keyOf(c *store.Command) store.CommandKey {
	return store.CommandKey{Run: c.RunID, Kind: c.Kind, ID: c.ID}
}

// secretKey is a command's payload: of two decisions with one id one is not accepted.
type secretKey struct {
	store.CommandKey
	Hash string
}

func secretOf(c *store.Command) secretKey { return secretKey{keyOf(c), c.SHA256} }

func newCommands() *commands {
	return &commands{watch: map[store.CommandKey]map[*app]heard{}, secret: map[secretKey]json.RawMessage{}}
}

// follow has an app hear of a command; undo leaves it as it was.
func (c *commands) follow(k store.CommandKey, a *app) (undo func()) {
	if a == nil || !a.speaks2() {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch[k] == nil {
		c.watch[k] = map[*app]heard{}
	}
	if _, has := c.watch[k][a]; has {
		return func() {}
	}
	c.watch[k][a] = heard{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.drop(k, a)
	}
}

func (c *commands) drop(k store.CommandKey, a *app) {
	if delete(c.watch[k], a); len(c.watch[k]) == 0 {
		delete(c.watch, k)
	}
}

func (c *commands) leave(a *app) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.watch {
		c.drop(k, a)
	}
}

// way are the states by which a command came to one.
func way(state string) []string {
	switch state {
	case "accepted":
		return []string{"accepted"}
	case "sent", "expired":
		return []string{"accepted", state}
	}
	return []string{"accepted", "sent", state}
}

// rank is how far a state is on its way.
func rank(state string) int {
	if state == "" {
		return 0
	}
	return len(way(state))
}

// tell says what has become of a command to those who gave it. Who hears of it late, since another
// server has done it, hears of each state on the way; nobody hears of one twice, or of an earlier one.
func (c *commands) tell(of *store.Command, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear(of, why)
}

// learn is tell for what was read some time ago: a command may have been accepted since then by the id of
// one that was taken back.
func (c *commands) learn(of *store.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, last := range c.watch[keyOf(of)] {
		if last.n != of.N {
			return // it is asked again
		}
	}
	c.hear(of, of.Why)
}

func (c *commands) hear(of *store.Command, why string) {
	k := keyOf(of)
	for a, last := range c.watch[k] {
		if last.n > of.N {
			return
		}
		for i, state := range way(of.State) {
			if i < rank(last.state) {
				continue
			}
			now, because := *of, ""
			if now.State = state; state == of.State {
				because = why
			}
			a.told(stateOf(&now, because))
			c.watch[k][a] = heard{state, of.N}
		}
	}
	c.ended(of)
}

// ended forgets a command that has ended.
func (c *commands) ended(of *store.Command) {
	if protocol.InputMachine.IsFinal(of.State) {
		delete(c.watch, keyOf(of))
		delete(c.secret, secretOf(of))
	}
}

// catchUp tells who gave a command again how it stands.
func (c *commands) catchUp(of *store.Command, a *app) {
	if a == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := c.watch[keyOf(of)]; all != nil && a.speaks2() {
		all[a] = heard{of.State, of.N}
	}
	a.told(stateOf(of, of.Why))
	if protocol.InputMachine.IsFinal(of.State) {
		c.drop(keyOf(of), a)
	}
}

// open are the commands of which somebody here wants to hear, or of which something is kept here.
func (c *commands) open() (keys []store.CommandKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.watch {
		keys = append(keys, k)
	}
	for k := range c.secret {
		if c.watch[k.CommandKey] == nil {
			keys = append(keys, k.CommandKey)
		}
	}
	return keys
}

// keep holds a payload that may not be stored, until its command has ended; nil forgets it.
func (c *commands) keep(k secretKey, payload json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if payload == nil {
		delete(c.secret, k)
		return
	}
	c.secret[k] = payload
}

// kept is a payload that is kept here; nil when there is none.
func (c *commands) kept(k secretKey) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secret[k]
}

// payload is what a command says; false when it is not there any more.
func (c *commands) payload(of *store.Command) (p payload, ok bool) {
	text := of.Payload
	if text == nil {
		text = c.kept(secretOf(of))
	}
	return p, json.Unmarshal(text, &p) == nil
}
