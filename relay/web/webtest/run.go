package webtest

import (
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// Run is a run of a machine that the test plays.
type Run struct {
	ID      string
	machine *servertest.Peer
	seq     int64
}

// Data is the data of a message.
type Data = map[string]any

// Begin starts a run of a machine and waits until the server has stored it.
func Begin(machine *servertest.Peer, id string, started Data) *Run {
	machine.T.Helper()
	r := &Run{ID: id, machine: machine}
	for name, usual := range (Data{"tool": "claude", "cwd": "/home/ann/shop", "command": "claude", "source": "pty"}) {
		if started[name] == nil {
			started[name] = usual
		}
	}
	r.Send(protocol.RunStarted, started)
	r.Stored()
	return r
}

// Send sends the next event of the run.
func (r *Run) Send(typ string, data Data) {
	r.machine.T.Helper()
	r.seq++
	r.machine.Send(typ, r.ID, r.seq, data)
}

// Write sends output of the run's terminal.
func (r *Run) Write(text string) {
	r.machine.T.Helper()
	r.Send(protocol.RunOutput, Data{"stream": "stdout", "text": text})
}

// Ask opens a request. Missing members of data get default values.
func (r *Run) Ask(id string, data Data) {
	r.machine.T.Helper()
	data["request_id"] = id
	for name, usual := range (Data{"reason": "permission", "prompt": "May I?", "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}) {
		if data[name] == nil {
			data[name] = usual
		}
	}
	r.Send(protocol.RunPermissionRequested, data)
	r.Stored()
}

// Resolve sends the outcome of a request.
func (r *Run) Resolve(id, decision, by string) {
	r.machine.T.Helper()
	data := Data{"request_id": id, "decision": decision, "actor": "system"}
	if by != "" {
		data["by"], data["actor"] = by, "web"
	}
	r.Send(protocol.RunPermissionResolved, data)
}

// Reconnect makes the run send its events on another connection of its machine.
func (r *Run) Reconnect(machine *servertest.Peer) { r.machine = machine }

// Stored waits until the server has stored all events of the run.
func (r *Run) Stored() {
	r.machine.T.Helper()
	for {
		e := r.machine.Next(protocol.RunAck)
		d, err := protocol.Decode[protocol.Ack](&e)
		if err != nil {
			r.machine.T.Fatal(err)
		}
		if d.RunID == r.ID && d.LastSeq >= r.seq {
			return
		}
	}
}
