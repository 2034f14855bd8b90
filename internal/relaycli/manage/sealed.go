package manage

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
)

// decisionOpener opens the decisions of sealed runs.
type decisionOpener struct {
	server  *remoteManager
	state   string
	readers map[string]*device.Reader // by machine
}

// newDecisionOpener returns an opener, or nil if this command line is no device of an account, or
// reads a database.
func newDecisionOpener(p manager, q *decisionFilter) (*decisionOpener, error) {
	s, ok := p.(*remoteManager)
	if !ok {
		return nil, nil
	}
	d, err := device.Load(q.state)
	if err != nil || d == nil {
		return nil, err
	}
	return &decisionOpener{s, q.state, map[string]*device.Reader{}}, nil
}

// open completes the decisions of sealed runs, and returns all that the filter selects. One that
// this device cannot open, or that the server has changed, remains as it is.
func (o *decisionOpener) open(ctx context.Context, all []server.HistoryRow, q *decisionFilter) (out []server.HistoryRow, err error) {
	for i := range all {
		d := &all[i]
		if len(d.Sealed) > 0 {
			if err := o.openOne(ctx, d); err != nil {
				return nil, err
			}
		}
		if (q.decision == "" || d.Decision == q.decision) && (q.by == "" || d.By == q.by) {
			out = append(out, *d)
		}
	}
	return out, nil
}

func (o *decisionOpener) openOne(ctx context.Context, d *server.HistoryRow) (err error) {
	r, known := o.readers[d.MachineID]
	if !known {
		if r, err = device.NewReader(ctx, o.state, o.server.Endpoint, d.MachineID); err != nil {
			return err
		}
		o.readers[d.MachineID] = r
	}
	if r == nil {
		return nil
	}
	for _, frame := range d.Sealed {
		e, refused := protocol.Parse(frame)
		if refused != nil || e.RunID != d.RunID || r.Open(ctx, &e) != nil || e.Enc != nil {
			continue
		}
		switch e.Type {
		case protocol.RunPermissionRequested:
			q, err := protocol.Decode[protocol.PermissionRequested](&e)
			if err == nil && q.RequestID == d.RequestID {
				d.Title, d.Line = q.Headline()
			}
		case protocol.RunInput: // it answers the request; its outcome may follow
			var in protocol.Input
			if json.Unmarshal(e.Data, &in) == nil && in.InputID == d.RequestID {
				d.Decision, d.By, d.Actor = protocol.DecisionAnswer, in.By, in.Actor
			}
		case protocol.RunPermissionResolved:
			var end protocol.PermissionResolved
			if json.Unmarshal(e.Data, &end) == nil && end.RequestID == d.RequestID {
				d.Decision, d.By, d.Actor, d.Reason = end.Decision, end.By, end.Actor, end.Reason
				d.Answer = string(protocol.ShortJSON(end.Answer, protocol.MaxAnswer))
			}
		}
	}
	return nil
}
