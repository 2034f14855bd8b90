package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// opener opens the sealed events and requests of the runs of one machine. It reports with note
// those that it cannot open, and those that the server has changed or withheld.
type opener struct {
	reader *device.Reader // nil if this command line is no device of the machine's account
	note   func(format string, args ...any)
	noted  map[string]bool // notes that are reported once
	sealed map[string]bool // runs of which a sealed event was opened
}

func newOpener(ctx context.Context, state string, server *connect.Endpoint, host string, note func(string, ...any)) (*opener, error) {
	r, err := device.NewReader(ctx, state, server, host)
	return &opener{reader: r, note: note, noted: map[string]bool{}, sealed: map[string]bool{}}, err
}

// event opens an event. It returns false if there is nothing to show.
func (o *opener) event(ctx context.Context, e *protocol.Envelope) bool {
	return o.open(e, func() error { return o.reader.Open(ctx, e) })
}

// next opens the next event of a run, and reports events that are missing before it.
func (o *opener) next(ctx context.Context, e *protocol.Envelope) bool {
	return o.open(e, func() error {
		_, err := o.reader.Follow(ctx, e)
		return err
	})
}

func (o *opener) open(e *protocol.Envelope, open func() error) bool {
	switch {
	case e.Enc != nil:
	case e.Type == protocol.RunGap: // the server and a machine that has lost events write it so
		return true
	case o.sealed[e.RunID]:
		o.note("event %d: the server sent it without encryption, and this run is sealed", e.Seq)
		return false
	default:
		o.warn(e.RunID)
		return true
	}
	if err := o.reason(open); err != nil {
		o.note("event %d: %v", e.Seq, err)
	}
	if e.Enc == nil {
		o.sealed[e.RunID] = true
		return e.Type != seal.TypeHead
	}
	if e.Type != protocol.RunExited {
		return false
	}
	e.Enc, e.Data = nil, json.RawMessage(`{"exit_code":-1}`) // the server sees that the run has ended
	return true
}

// warn notes that a run of a machine that seals its events is not sealed.
func (o *opener) warn(run string) {
	if o.reader != nil {
		o.once("run %s is not sealed: the server can read and change what is shown", run)
	}
}

// reason calls open. It returns nil if the reason of its error was reported before.
func (o *opener) reason(open func() error) error {
	if o.reader == nil {
		o.once("the run is sealed, and this command line is no device of its account (%s)", device.JoinHint)
		return nil
	}
	err := open()
	var why *seal.Refusal
	if errors.As(err, &why) && why.Code == seal.OldEpoch {
		o.once("%s", why.Why)
		return nil
	}
	return err
}

func (o *opener) once(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !o.noted[text] {
		o.noted[text] = true
		o.note("%s", text)
	}
}

// confirm checks that the machine has signed a request with the events before it. Otherwise another
// reader of the run could have written it.
func (o *opener) confirm(ctx context.Context, e *connect.Endpoint, run string, seq int64) error {
	page, err := readPage(ctx, e, run, max(seq-1-seal.HeadEvents, 0), 2*seal.HeadEvents)
	for i := 0; err == nil && i < len(page); i++ {
		var by seal.Span
		if by, err = o.reader.Follow(ctx, &page[i]); by.From <= seq && seq <= by.To {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("check the request: %w", err)
	}
	return console.Usage("try again in a second", "the machine has not confirmed the request yet")
}

const (
	endEvery = 20 * time.Second // interval between two requests for the end of a run
	endGrace = 5 * time.Second  // maximum time that events are expected to be on their way
)

// watchEnd checks the end of a run at intervals, until ctx ends.
func (o *opener) watchEnd(ctx context.Context, run string) {
	for o.reader != nil && pause(ctx, endEvery) {
		o.checkEnd(ctx, run, endGrace)
	}
}

// checkEnd reports that the server withholds the newest events of a sealed run.
func (o *opener) checkEnd(ctx context.Context, run string, grace time.Duration) {
	last := o.reader.Last(run)
	ends, err := o.reader.Ends(ctx)
	var why *seal.Refusal
	if errors.As(err, &why) {
		o.note("%v", err)
	}
	end, known := ends[run]
	if !known || end.Seq <= last || !pause(ctx, grace) { // the machine may also be offline
		return
	}
	if o.reader.Last(run) == last { // otherwise they arrive
		o.note("events %d to %d: the machine has sealed them, and the server withholds them", last+1, end.Seq)
	}
}

// pause waits. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// sealedRequest is an open request of a sealed run in the list of a server.
type sealedRequest struct {
	RequestID string          `json:"request_id"`
	TS        string          `json:"ts"`
	Seq       int64           `json:"seq"`
	Enc       json.RawMessage `json:"enc"` // nil if the run is not sealed
	CT        string          `json:"ct"`
	Prev      string          `json:"prev"`
}

// request decodes an open request in the list of a server. One that cannot be opened has only its
// id. The result of sealed is the sequence number of its event, or 0 if the run is not sealed.
func (o *opener) request(ctx context.Context, run string, text json.RawMessage) (q protocol.PermissionRequested, sealed int64, err error) {
	var s sealedRequest
	if err := json.Unmarshal(text, &s); err != nil {
		return q, 0, err
	}
	if s.Enc == nil && o.sealed[run] {
		o.note("request %s: the server sent it without encryption, and this run is sealed", console.DisplayText(s.RequestID, 64))
		return protocol.PermissionRequested{RequestID: s.RequestID, Prompt: sealedText}, s.Seq, nil
	}
	if s.Enc == nil {
		o.warn(run)
		return q, 0, json.Unmarshal(text, &q)
	}
	data, err := json.Marshal(seal.SealedData{CT: s.CT, Prev: s.Prev, RequestID: s.RequestID})
	if err != nil {
		return q, 0, err
	}
	e := protocol.Envelope{Type: protocol.RunPermissionRequested, TS: s.TS, RunID: run, Seq: s.Seq, Enc: s.Enc, Data: data}
	if err := o.reason(func() error { return o.reader.Open(ctx, &e) }); err != nil {
		o.note("request %s: %v", console.DisplayText(s.RequestID, 64), err)
	}
	if e.Enc != nil {
		return protocol.PermissionRequested{RequestID: s.RequestID, Prompt: sealedText}, s.Seq, nil
	}
	return q, s.Seq, json.Unmarshal(e.Data, &q)
}

// errUnsealed is the error for what is not sent, because the server could read it.
func errUnsealed(run string) error {
	return console.Usage("try again when the machine is online", "run %s is sealed, and the server has not sent the keys of its machine: nothing was sent", run)
}

// sealedText is shown in place of a text that cannot be opened.
const sealedText = "(sealed)"

// openRuns adds to the sealed runs in the list of a server what this command line can open.
func openRuns(ctx context.Context, a *console.Console, state string, e *connect.Endpoint, all []json.RawMessage) error {
	openers := map[string]*opener{}
	for i, text := range all {
		var one struct {
			ID        string            `json:"id"`
			MachineID string            `json:"host_id"`
			Sealed    bool              `json:"sealed"`
			Pending   []json.RawMessage `json:"pending"`
		}
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		o := openers[one.MachineID]
		if o == nil {
			var err error
			if o, err = newOpener(ctx, state, e, one.MachineID, func(format string, args ...any) { fmt.Fprintf(a.Stderr, "note: "+format+"\n", args...) }); err != nil {
				return err
			}
			openers[one.MachineID] = o
		}
		if !one.Sealed {
			o.warn(one.ID)
			continue
		}
		o.sealed[one.ID] = true
		row := map[string]any{}
		if err := json.Unmarshal(text, &row); err != nil {
			return err
		}
		if err := o.addStart(ctx, e, one.ID, row); err != nil {
			return err
		}
		asks := []protocol.PermissionRequested{}
		for _, text := range one.Pending {
			q, _, err := o.request(ctx, one.ID, text)
			if err != nil {
				return err
			}
			asks = append(asks, q)
		}
		row["pending"] = asks
		opened, err := json.Marshal(row)
		if err != nil {
			return err
		}
		all[i] = opened
	}
	return nil
}

// addStart adds the members of a run's first event to its row.
func (o *opener) addStart(ctx context.Context, e *connect.Endpoint, run string, row map[string]any) error {
	row["title"] = sealedText
	first, err := readPage(ctx, e, run, 0, 1)
	if err != nil || len(first) == 0 || !o.event(ctx, &first[0]) {
		return err
	}
	return showAs(&first[0], func(d *protocol.Started) error {
		row["tool"], row["cwd"], row["command"], row["title"] = d.Tool, d.Cwd, d.Command, d.Title
		return nil
	})
}

// readPage requests the events of a run whose sequence numbers are greater than after. It returns
// at most limit events, and at most 1000.
func readPage(ctx context.Context, end *connect.Endpoint, run string, after, limit int64) (all []protocol.Envelope, err error) {
	var page struct {
		Events []json.RawMessage `json:"events"`
	}
	path := fmt.Sprintf("%s/events?after=%d&limit=%d", RunPath(run), after, min(limit, 1000))
	if err := end.Call(ctx, http.MethodGet, path, nil, &page); err != nil {
		return nil, err
	}
	for _, text := range page.Events {
		e, refused := protocol.Parse(text)
		if refused != nil {
			return nil, fmt.Errorf("%s sent an invalid message: %w", end.Name, refused)
		}
		all = append(all, e)
	}
	return all, nil
}
