package webtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// sealedRuns are the keys of an account's host, and what the server knows of its sealed runs.
type sealedRuns struct {
	epochs   []*seal.Epoch
	position seal.EpochPosition
	records  []string                                // key records, in the order of their epochs
	hidden   int                                     // the number of the newest records that the server lacks
	history  map[string]string                       // by device
	ends     map[string]seal.End                     // of the runs, for beats
	requests map[string]map[string]protocol.Envelope // frames of requests, by run and id
	denied   bool                                    // the server denies that runs are sealed
	fails    bool                                    // the server does not return key records
}

// NewEpoch starts the host's next epoch, for the present devices. If show is not set, the server
// has its key record only after ShowRecords.
func (a *Account) NewEpoch(show bool) {
	a.T.Helper()
	a.NewEpochAt(show, time.Now())
}

// firstEpoch starts the first epoch unless the host has one.
func (a *Account) firstEpoch() {
	a.T.Helper()
	a.mu.Lock()
	first := len(a.sealed.epochs) == 0
	a.mu.Unlock()
	if first {
		a.NewEpoch(true)
	}
}

// NewEpochAt is NewEpoch at a given time. The keys of the epoch before end a day later.
func (a *Account) NewEpochAt(show bool, at time.Time) {
	a.T.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	e, text, err := a.roster.NewEpoch(a.Host, a.machine, a.sealed.position, map[string]string{a.Host: "Ann’s MacBook"}, at)
	if err != nil {
		a.T.Fatal(err)
	}
	rec, err := a.roster.VerifyKeyRecord(text, a.Host, a.sealed.position)
	if err != nil {
		a.T.Fatal(err)
	}
	a.sealed.epochs, a.sealed.position = append(a.sealed.epochs, e), rec.Position()
	a.sealed.records = append(a.sealed.records, string(text)+"\n")
	if !show {
		a.sealed.hidden = 1
	}
}

// ShowRecords makes the server serve all key records.
func (a *Account) ShowRecords() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed.hidden = 0
}

// AddHistory creates the history of all epochs for a device.
func (a *Account) AddHistory(device string) {
	a.T.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	text, err := a.roster.NewHistory(a.Host, a.machine, device, a.sealed.epochs)
	if err != nil {
		a.T.Fatal(err)
	}
	a.sealed.history[device] = string(text)
}

// Deny makes the server deny that runs are sealed.
func (a *Account) Deny() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed.denied = true
}

// FailKeys makes the server return an error instead of key records.
func (a *Account) FailKeys(fails bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed.fails = fails
}

func (a *Account) serveKeys(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil || r.PathValue("first") != a.ID || r.URL.Query().Get("host") != a.Host {
		http.Error(w, `{"error":{"code":"unknown_account","message":"there are no key records"}}`, http.StatusNotFound)
		return
	}
	if a.sealed.fails {
		http.Error(w, `{"error":{"code":"internal","message":"the records could not be read"}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	shown := a.sealed.records[:len(a.sealed.records)-a.sealed.hidden]
	_, _ = w.Write([]byte(strings.Join(shown[min(after, len(shown)):], "")))
}

func (a *Account) serveHistory(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := a.sealed.history[r.URL.Query().Get("device")]
	if text == "" {
		http.Error(w, `{"error":{"code":"not_found","message":"there is no history for the device"}}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text + "\n"))
}

// markSealed changes rows as a hostile server can: it denies that a run is sealed, and shows the
// form of a request that was sealed last.
func (a *Account) markSealed(row map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, _ := row["id"].(string)
	if a.sealed.requests[id] != nil && a.sealed.denied {
		delete(row, "sealed")
	}
	pending, _ := row["pending"].([]any)
	for _, q := range append(pending, row) {
		q, _ := q.(map[string]any)
		run, _ := q["run_id"].(string)
		request, _ := q["request_id"].(string)
		if frame, ok := a.sealed.requests[run][request]; ok {
			var data seal.SealedData
			if err := json.Unmarshal(frame.Data, &data); err != nil {
				panic(err) // frame has created it
			}
			q["ts"], q["enc"], q["ct"], q["prev"] = frame.TS, frame.Enc, data.CT, data.Prev
		}
	}
}

// openCommand opens a sealed command of the page, with its epoch. The caller holds mu.
func (a *Account) openCommand(e *protocol.Envelope, kind string) (seal.Command, *seal.SealedCommand, *seal.Epoch, error) {
	var enc seal.Enc
	if json.Unmarshal(e.Enc, &enc) != nil || enc.V != 1 {
		return seal.Command{}, nil, nil, fmt.Errorf("%s is not sealed: enc = %s, data = %s", e.Type, e.Enc, e.Data)
	}
	s, err := seal.ParseSealedCommand(e.Data)
	if err != nil {
		return seal.Command{}, nil, nil, err
	}
	if s.Epoch != enc.Epoch || s.ID != e.ID {
		return seal.Command{}, nil, nil, fmt.Errorf("epoch and id of %s: %d and %s in the envelope, %d and %s in the data", e.Type, enc.Epoch, e.ID, s.Epoch, s.ID)
	}
	epoch, err := seal.CommandEpoch(a.sealed.epochs, s.Epoch, time.Now())
	if err != nil {
		return seal.Command{}, nil, nil, err
	}
	cmd, err := epoch.OpenCommand(e.RunID, kind, s)
	return cmd, s, epoch, err
}

// Content returns the data in a sealed command.
func (a *Account) Content(e *protocol.Envelope, kind string) Data {
	a.T.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	cmd, _, _, err := a.openCommand(e, kind)
	var content struct{ Data Data }
	if err == nil {
		err = json.Unmarshal(cmd.Content, &content)
	}
	if err != nil {
		a.T.Fatal(err)
	}
	return content.Data
}

// Respond returns the sealed response to a sealed RPC.
func (a *Account) Respond(e *protocol.Envelope, data Data) protocol.Envelope {
	a.T.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	_, s, epoch, err := a.openCommand(e, seal.KindRPC)
	if err != nil {
		a.T.Fatal(err)
	}
	text, err := json.Marshal(data)
	if err != nil {
		a.T.Fatal(err)
	}
	ct, err := epoch.SealResponse(e.RunID, s, text)
	if err != nil {
		a.T.Fatal(err)
	}
	text, err = json.Marshal(Data{"ct": ct})
	if err != nil {
		a.T.Fatal(err)
	}
	return protocol.Envelope{Type: protocol.RPCResponse, TS: e.TS, RunID: e.RunID, Re: e.ID, Enc: e.Enc, Data: text}
}

// SealedRun is a run whose events its host seals.
type SealedRun struct {
	ID      string
	account *Account
	machine *servertest.Peer
	chain   seal.Chain
	// Notice returns the text for the devices that the host adds to an event; nil means that the
	// host adds none.
	Notice func(typ string) *seal.Notice
}

// BeginSealed starts a sealed run and waits until the server has stored it.
func (a *Account) BeginSealed(machine *servertest.Peer, id string, started Data) *SealedRun {
	a.T.Helper()
	a.firstEpoch()
	a.mu.Lock()
	a.sealed.requests[id] = map[string]protocol.Envelope{}
	a.mu.Unlock()
	r := &SealedRun{ID: id, account: a, machine: machine}
	r.Send(protocol.RunStarted, started)
	r.Stored()
	return r
}

func (r *SealedRun) key() *seal.RunKey {
	return r.account.sealed.epochs[len(r.account.sealed.epochs)-1].RunKey(r.ID)
}

// Seal seals the next event of the run, and returns its frame without sending it.
func (r *SealedRun) Seal(typ string, data Data) protocol.Envelope {
	r.account.T.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		r.account.T.Fatal(err)
	}
	e := seal.Event{Type: typ, TS: protocol.Timestamp(time.Now()), Data: text}
	r.account.mu.Lock()
	defer r.account.mu.Unlock()
	s, chain, err := r.key().Seal(e, r.chain)
	if err != nil {
		r.account.T.Fatal(err)
	}
	r.chain = chain
	if r.Notice != nil {
		if n := r.Notice(typ); n != nil {
			s.Data.Push = r.push(s, *n)
		}
	}
	return r.frame(s)
}

// push returns the bodies with a notice for all devices of the newest epoch.
func (r *SealedRun) push(s *seal.SealedEvent, n seal.Notice) json.RawMessage {
	r.account.T.Helper()
	n.TS = s.TS
	e := r.account.sealed.epochs[len(r.account.sealed.epochs)-1]
	bodies, err := e.SealPush(s, slices.Sorted(maps.Keys(e.Commands)), n)
	if err != nil {
		r.account.T.Fatal(err)
	}
	return bodies
}

func (r *SealedRun) frame(s *seal.SealedEvent) protocol.Envelope {
	enc, err := json.Marshal(s.Enc)
	if err != nil {
		r.account.T.Fatal(err)
	}
	data, err := json.Marshal(s.Data)
	if err != nil {
		r.account.T.Fatal(err)
	}
	e := protocol.Envelope{Type: s.Type, TS: s.TS, RunID: s.Run, Seq: s.Seq, Enc: enc, Data: data}
	if s.Type == protocol.RunPermissionRequested {
		r.account.sealed.requests[r.ID][s.Data.RequestID] = e
	}
	return e
}

// Send seals and sends the next event of the run. Head must follow the types that need one.
func (r *SealedRun) Send(typ string, data Data) {
	r.account.T.Helper()
	r.SendFrame(r.Seal(typ, data))
}

// Fork returns a run that continues like this one, as a reader with the run's key could forge it.
func (r *SealedRun) Fork() *SealedRun {
	other := *r
	return &other
}

// SendFrame sends a frame, which may be another one than the host has sealed.
func (r *SealedRun) SendFrame(e protocol.Envelope) {
	r.account.T.Helper()
	r.machine.Raw(e.Append(nil))
}

// Write sends output.
func (r *SealedRun) Write(text string) {
	r.account.T.Helper()
	r.Send(protocol.RunOutput, Data{"stream": "stdout", "text": text})
}

// Head sends a head.
func (r *SealedRun) Head() {
	r.account.T.Helper()
	r.account.mu.Lock()
	s, chain, err := r.key().SealHead(r.account.machine, r.chain, r.account.Token(), time.Now())
	if err != nil {
		r.account.T.Fatal(err)
	}
	r.chain = chain
	e := r.frame(s)
	r.account.mu.Unlock()
	r.SendFrame(e)
}

// Ask opens a request and returns its data.
func (r *SealedRun) Ask(id string, data Data) Data {
	r.account.T.Helper()
	data["request_id"], data["fresh"] = id, r.account.Token()
	for name, usual := range (Data{"reason": "permission", "prompt": "May I?", "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}) {
		if data[name] == nil {
			data[name] = usual
		}
	}
	r.Send(protocol.RunPermissionRequested, data)
	return data
}

// SealRequest makes the server show another form of a request.
func (r *SealedRun) SealRequest(id string, data Data) {
	r.account.T.Helper()
	data["request_id"], data["reason"], data["fresh"] = id, "permission", r.account.Token()
	r.Seal(protocol.RunPermissionRequested, data)
}

// Confirm makes the host report the last event that it has sealed as the run's end, also if it was
// not sent.
func (r *SealedRun) Confirm() {
	r.account.mu.Lock()
	defer r.account.mu.Unlock()
	r.account.sealed.ends[r.ID] = seal.End{Seq: r.chain.Seq, Tag: r.chain.Tag}
}

// Stored waits until the server has stored all events of the run.
func (r *SealedRun) Stored() {
	r.account.T.Helper()
	(&Run{ID: r.ID, machine: r.machine, seq: r.chain.Seq}).Stored()
}
