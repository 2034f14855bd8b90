package server

import (
	"encoding/json"
	"sync"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// commands holds the apps at this server that watch commands. The state of the commands is in the
// store.
type commands struct {
	mu    sync.Mutex
	watch map[store.CommandKey]map[*app]notified
	// secret holds the payloads that must not be stored. They are lost when the server stops.
	secret map[secretKey]json.RawMessage
}

// notified identifies the last state of a command that an app received. n is the number of the
// command. The zero value means that the app received none.
type notified struct {
	state protocol.InputState
	n     int64
}

func keyOf(c *store.Command) store.CommandKey {
	return store.CommandKey{Run: c.RunID, Kind: c.Kind, ID: c.ID}
}

// secretKey identifies a secret payload. The name distinguishes two commands with the same id, of
// which only one is accepted.
type secretKey struct {
	store.CommandKey
	Name string
}

func secretOf(c *store.Command) secretKey { return secretKey{keyOf(c), c.SHA256} }

func newCommands() *commands {
	return &commands{watch: map[store.CommandKey]map[*app]notified{}, secret: map[secretKey]json.RawMessage{}}
}

// follow makes an app watch a command. undo removes that watch again.
func (c *commands) follow(k store.CommandKey, a *app) (undo func()) {
	if a == nil || !a.speaks2() {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch[k] == nil {
		c.watch[k] = map[*app]notified{}
	}
	if _, has := c.watch[k][a]; has {
		return func() {}
	}
	c.watch[k][a] = notified{}
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

func (c *commands) forget(a *app) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.watch {
		c.drop(k, a)
	}
}

// statesBefore returns the states that a command in the given state went through, including that
// state.
func statesBefore(state protocol.InputState) []protocol.InputState {
	switch state {
	case protocol.InputAccepted:
		return []protocol.InputState{state}
	case protocol.InputSent, protocol.InputExpired:
		return []protocol.InputState{protocol.InputAccepted, state}
	}
	return []protocol.InputState{protocol.InputAccepted, protocol.InputSent, state}
}

// rank returns the number of states up to and including the given one; 0 for "".
func rank(state protocol.InputState) int {
	if state == "" {
		return 0
	}
	return len(statesBefore(state))
}

// notify sends the state of a command to the apps that watch it. If a change by another server is
// noticed late, the apps also receive the intermediate states. An app receives no state twice, and
// none after a later state.
func (c *commands) notify(of *store.Command, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notifyLocked(of, why)
}

// learn is like notify, for a state that was read from the store earlier. Since then the command
// may have been replaced by another one with the same id.
func (c *commands) learn(of *store.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, last := range c.watch[keyOf(of)] {
		if last.n != of.N {
			return // a later check reads the state again
		}
	}
	c.notifyLocked(of, of.Why)
}

func (c *commands) notifyLocked(of *store.Command, why string) {
	k := keyOf(of)
	for a, last := range c.watch[k] {
		if last.n > of.N {
			return
		}
		for i, state := range statesBefore(of.State) {
			if i < rank(last.state) {
				continue
			}
			now, because := *of, ""
			if now.State = state; state == of.State {
				because = why
			}
			a.sendState(stateOf(&now, because))
			c.watch[k][a] = notified{state, of.N}
		}
	}
	c.ended(of)
}

// ended removes a command that is in a final state.
func (c *commands) ended(of *store.Command) {
	if of.State.IsFinal() {
		delete(c.watch, keyOf(of))
		delete(c.secret, secretOf(of))
	}
}

// catchUp sends the current state of a command to an app that has sent the command again.
func (c *commands) catchUp(of *store.Command, a *app) {
	if a == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := c.watch[keyOf(of)]; all != nil && a.speaks2() {
		all[a] = notified{of.State, of.N}
	}
	a.sendState(stateOf(of, of.Why))
	if of.State.IsFinal() {
		c.drop(keyOf(of), a)
	}
}

// open returns the commands that an app at this server watches, or whose payload this server holds.
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

// hold stores a payload in memory until its command is finished. A nil payload removes it.
func (c *commands) hold(k secretKey, payload json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if payload == nil {
		delete(c.secret, k)
		return
	}
	c.secret[k] = payload
}

// held returns a payload that is in memory, or nil.
func (c *commands) held(k secretKey) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secret[k]
}

// payload returns the payload of a command, either stored or in memory. ok is false if it is lost.
func (c *commands) payload(of *store.Command) (p payload, ok bool) {
	text := of.Payload
	if text == nil {
		text = c.held(secretOf(of))
	}
	return p, json.Unmarshal(text, &p) == nil
}
