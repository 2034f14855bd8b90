package server

import (
	"context"
	"crypto/hpke"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// letter is a message between servers. It is encrypted with the recipient's key, which exists only
// in the recipient's memory, so that neither the database nor the bus reveals its content.
type letter struct {
	Kind    string          `json:"kind"`
	From    string          `json:"from"`
	Machine string          `json:"host,omitempty"`
	Run     string          `json:"run,omitempty"`
	Type    string          `json:"type,omitempty"`
	Frame   json.RawMessage `json:"frame,omitempty"`
	Key     *secretKey      `json:"key,omitempty"`
	ID      string          `json:"id,omitempty"`
	Yes     bool            `json:"yes,omitempty"`
}

// The kinds of letters.
const (
	letterPass           = "pass"   // a frame to send to a machine
	letterLive           = "live"   // an event without a sequence number
	letterPayloadRequest = "keeps?" // asks whether the server holds the payload of a command
	letterPayload        = "kept"   // answers letterPayloadRequest with the payload, or without one
	letterThere          = "there?" // asks whether the connection of a machine responds
	letterAnswer         = "there"
)

// write sends a letter to another server and reports whether it could.
func (o *peers) write(ctx context.Context, to string, l letter) bool {
	key := o.keyOf(ctx, to)
	if key == nil {
		return false
	}
	l.From = o.id
	sealed, err := hpke.Seal(key, kdf(), aead(), []byte(mailInfo), mustJSON(l))
	if err != nil {
		o.srv.log.Error("could not encrypt a message to another server", slog.Any("error", err))
		return false
	}
	body := base64.RawURLEncoding.EncodeToString(sealed)
	if o.bus != nil && o.bus.Up() && len(body) <= maxBusBody {
		o.bus.Publish("mail."+to, []byte(body))
		return true
	}
	if err := o.srv.store.SendMail(ctx, to, store.Mail{Kind: store.SealedMail, Body: body}); err != nil {
		o.srv.failed(err, protocol.Internal)
		return false
	}
	o.notify(checkMail)
	return true
}

// keyOf returns the key of another server, or nil if that server is not running.
func (o *peers) keyOf(ctx context.Context, id string) hpke.PublicKey {
	for look := false; ; look = true {
		o.mu.Lock()
		key := o.peers[id]
		o.mu.Unlock()
		if key != nil || look {
			return key
		}
		if err := o.refreshPeers(ctx); err != nil { // the server may have just started
			o.srv.failed(err, protocol.Internal)
			return nil
		}
	}
}

// maxBusBody is the size of the largest letter that is sent over the bus. It is the default limit
// of NATS.
const maxBusBody = 1 << 20

// open decrypts a received letter and handles it.
func (o *peers) open(body string) {
	sealed, err := base64.RawURLEncoding.DecodeString(body)
	var text []byte
	if err == nil {
		text, err = hpke.Open(o.key, kdf(), aead(), []byte(mailInfo), sealed)
	}
	var l letter
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		o.srv.log.Warn("received an invalid message from another server", slog.Any("error", err))
		return
	}
	o.handle(&l)
}

// handle processes a decrypted letter.
func (o *peers) handle(l *letter) {
	switch l.Kind {
	case letterPass:
		if h := o.srv.machines.get(l.Machine); h != nil {
			if waits, f := h.whenReady(func() { h.socket.push(l.Frame) }); !waits && f == nil {
				h.socket.push(l.Frame)
			}
		}
	case letterLive:
		o.srv.hub.live(l.Run, l.Type, l.Frame)
	case letterPayloadRequest:
		if l.Key != nil {
			o.write(o.srv.ctx, l.From, letter{Kind: letterPayload, Key: l.Key, Machine: l.Machine, Frame: o.srv.commands.held(*l.Key)})
		}
	case letterPayload:
		o.handlePayload(l)
	case letterThere:
		o.srv.work.Go(func() {
			h := o.srv.machines.get(l.Machine)
			o.write(o.srv.ctx, l.From, letter{Kind: letterAnswer, ID: l.ID, Yes: h != nil && h.isAlive()})
		})
	case letterAnswer:
		o.mu.Lock()
		answer := o.answers[l.ID]
		delete(o.answers, l.ID)
		o.mu.Unlock()
		if answer != nil {
			answer <- l.Yes
		}
	}
}

// forward sends a frame to the server that a machine is connected to. The frame is lost if the
// machine disconnects.
func (o *peers) forward(ctx context.Context, h *store.Machine, frame []byte) *Failure {
	if !o.write(ctx, h.Replica, letter{Kind: letterPass, Machine: h.ID, Frame: frame}) {
		return refuse(protocol.MachineOffline, "machine %s is not connected", h.ID)
	}
	return nil
}

// live sends an event without a sequence number to the other servers, for their followers.
func (o *peers) live(run, typ string, frame []byte) {
	if !o.shared {
		return
	}
	if err := o.refreshPeers(o.srv.ctx); err != nil { // a server that has just started may have followers
		if o.srv.ctx.Err() == nil {
			o.srv.failed(err, protocol.Internal)
		}
		return
	}
	o.mu.Lock()
	all := make([]string, 0, len(o.peers))
	for id := range o.peers {
		all = append(all, id)
	}
	o.mu.Unlock()
	for _, id := range all {
		o.write(o.srv.ctx, id, letter{Kind: letterLive, Run: run, Type: typ, Frame: frame})
	}
}

// requestPayload asks the other servers for the payload of a command. It returns false if no server
// has the payload. A payload that must not be stored is exchanged only in letters.
func (o *peers) requestPayload(c *store.Command, machine string) bool {
	k := secretOf(c)
	if !o.shared || c.Keeper == o.id || o.keyOf(o.srv.ctx, c.Keeper) == nil {
		o.mu.Lock()
		delete(o.asked, k)
		o.mu.Unlock()
		return false
	}
	o.mu.Lock()
	lately := time.Since(o.asked[k]) < time.Second
	if !lately {
		o.asked[k] = time.Now()
	}
	o.mu.Unlock()
	if lately {
		return true
	}
	return o.write(o.srv.ctx, c.Keeper, letter{Kind: letterPayloadRequest, Key: &k, Machine: machine})
}

// handlePayload receives the payload of a command from another server and sends the command to its
// machine.
func (o *peers) handlePayload(l *letter) {
	if l.Key == nil {
		return
	}
	o.mu.Lock()
	_, asked := o.asked[*l.Key]
	delete(o.asked, *l.Key)
	o.mu.Unlock()
	if !asked || string(l.Frame) == "null" || len(l.Frame) == 0 {
		return // the payload is requested again until the command is finished
	}
	o.srv.commands.hold(*l.Key, l.Frame)
	if h := o.srv.machines.get(l.Machine); h != nil && h.isReady() {
		h.deliver()
	}
}

// isAlive asks the server that a machine is connected to whether the machine responds. Without an
// answer it returns false.
func (o *peers) isAlive(h *store.Machine) bool {
	answer, id := make(chan bool, 1), rand.Text()
	o.mu.Lock()
	o.answers[id] = answer
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.answers, id)
	}()
	if !o.write(o.srv.ctx, h.Replica, letter{Kind: letterThere, Machine: h.ID, ID: id}) {
		return false
	}
	select {
	case yes := <-answer:
		return yes
	case <-time.After(pingTimeout + 4*protocol.ReplicaPoll):
	case <-o.srv.ctx.Done():
	}
	return false
}
