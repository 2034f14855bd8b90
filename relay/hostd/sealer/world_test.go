package sealer_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

const machineID = "host_a"

// patience is the time limit of each wait. Only a failing test waits that long.
const patience = time.Minute

// signer is a device.
type signer struct {
	id      string
	keys    *seal.Keys
	counter int64
	inputs  map[string]int64 // the counter of the last input of each run
}

// world is a machine with an account, connected to a server that the test plays. It
// has the devices cli and phone of an owner, a viewer's guest, and a removed tablet.
type world struct {
	t        *testing.T
	state    string // the state directory of hostd
	roster   *seal.Roster
	recovery *seal.Keys
	devices  map[string]*signer

	spool     *spool.Spool
	approvals *approvals.Registry
	sealer    *sealer.Sealer
	link      *link.Link
	end       func()
	http      *httptest.Server
	conns     chan *websocket.Conn
	conn      *websocket.Conn
	rpc       func(link.Admission) (string, protocol.Response) // performs RPCs; nil means that each has the result below

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when something below changes
	effects  []string
	results  []protocol.CommandDone
	answers  map[string]protocol.Response
	secrets  []protocol.Envelope // the sealed answers
	refusals []protocol.OwnRefused
	lines    [][]byte // the server's roster; nil means that it has none
	keys     keyServer
	skew     time.Duration
	result   json.RawMessage // of RPCs
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, state: t.TempDir(), devices: map[string]*signer{}, changed: make(chan struct{}), answers: map[string]protocol.Response{}, conns: make(chan *websocket.Conn, 8)}
	w.roster, w.recovery = seal.NewAccount(seal.NewRecoveryCode(), time.Now().Add(-time.Hour))
	w.add("cli", seal.Owner)
	w.add("phone", seal.Owner)
	w.add("guest", seal.Viewer)
	w.add("tablet", seal.Operator)
	host := seal.NewKeys()
	m := seal.NewMember(host, w.roster.Account(), seal.Host, machineID)
	m.User = "ada"
	w.append(w.roster.AddMember(seal.ByRecovery, w.recovery, m, time.Now()))
	w.append(w.roster.RemoveMember(seal.ByRecovery, w.recovery, w.devices["tablet"].id, time.Now()))
	w.lines = w.rosterLines()
	w.put("roster.ndjson", w.roster.Text())
	w.put("keys.json", host.Marshal())
	w.http = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.http.Close)
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) put(name string, text []byte) {
	w.t.Helper()
	file := filepath.Join(w.state, "seal", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) rosterLines() [][]byte {
	var all [][]byte
	for l := range strings.Lines(string(w.roster.Text())) {
		all = append(all, []byte(l))
	}
	return all
}

func (w *world) append(line []byte, err error) {
	w.t.Helper()
	if err == nil {
		err = w.roster.Append(line)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(name, role string) {
	w.t.Helper()
	k := seal.NewKeys()
	m := seal.NewMember(k, w.roster.Account(), seal.Device, "")
	m.User, m.Role, m.Page = "ada", role, seal.PageCLI
	w.append(w.roster.AddMember(seal.ByRecovery, w.recovery, m, time.Now()))
	w.devices[name] = &signer{id: m.ID, keys: k, inputs: map[string]int64{}}
}

// start starts hostd's part of the machine.
func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	if w.spool, err = spool.Open(ctx, filepath.Join(w.state, "spool.db"), spool.Options{}); err != nil {
		w.t.Fatal(err)
	}
	w.sealer, err = sealer.Open(sealer.Options{State: w.state, MachineID: machineID, Server: at(w), Log: slog.New(slog.DiscardHandler), Request: w.request, IsLive: func(string) bool { return true }, Refused: w.refused,
		Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return time.Now().Add(w.skew) }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.approvals = approvals.New(approvals.Options{Events: w, Fresh: w.sealer.Token, Record: w.sealer.RecordDecision})
	w.link, err = link.New(link.Options{URL: w.http.URL, MachineID: machineID, Token: func() (string, error) { return "t", nil }, Agent: "test/1", Spool: w.spool, Commands: w, Gate: w.sealer, Account: w.sealer.Account, Random: func() float64 { return 0 }})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); w.link.Run(ctx) }()
	w.end = func() { cancel(); <-done }
	w.conn = <-w.conns
}

func (w *world) stop() {
	w.t.Helper()
	w.end()
	if err := w.sealer.Close(); err != nil {
		w.t.Error(err)
	}
	if err := w.spool.Close(); err != nil {
		w.t.Error(err)
	}
}

// serve is the server: it welcomes hostd and acknowledges everything.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(rw, r, nil)
	if err != nil {
		return
	}
	c.SetReadLimit(protocol.MaxFrame)
	for {
		_, frame, err := c.Read(r.Context())
		if err != nil {
			return
		}
		e, _ := protocol.Parse(frame)
		switch {
		case e.Type == protocol.Hello:
			w.write(c, protocol.New(protocol.Welcome, time.Now(), protocol.WelcomeData{Protocol: 2, Agent: "test/1", Features: []string{}, Runs: map[string]int64{}}))
			w.conns <- c
		case e.Type == protocol.CommandResult:
			d, _ := protocol.Decode[protocol.CommandDone](&e)
			w.change(func() { w.results = append(w.results, d) })
			w.write(c, protocol.New(protocol.CommandAck, time.Now(), protocol.CommandAcked{ID: d.ID}))
		case e.Type == protocol.RPCResponse:
			d, _ := protocol.Decode[protocol.Response](&e)
			w.change(func() {
				if e.Enc != nil {
					w.secrets = append(w.secrets, e)
				} else {
					w.answers[d.RequestID] = d
				}
			})
		}
	}
}

func (w *world) write(c *websocket.Conn, e protocol.Envelope) {
	_ = c.Write(context.Background(), websocket.MessageText, e.Append(nil)) // an error means that hostd has disconnected
}

// change changes what the machine has done, and wakes those that wait for it.
func (w *world) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	close(w.changed)
	w.changed = make(chan struct{})
}

// await waits until is returns true.
func (w *world) await(what string, is func() bool) {
	w.t.Helper()
	late := time.After(patience)
	for {
		w.mu.Lock()
		ok, changed := is(), w.changed
		w.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			w.t.Fatalf("timeout: %s; effects = %q, results = %+v, refusals = %+v", what, w.effects, w.results, w.refusals)
		}
	}
}

func (w *world) did(format string, args ...any) link.Outcome {
	w.change(func() { w.effects = append(w.effects, fmt.Sprintf(format, args...)) })
	return link.Applied
}

// The following methods implement link.Commands.

func (w *world) Input(_ context.Context, run, by string, c protocol.SendInput) link.Outcome {
	return w.did("input %s %s %s %s %s by %s", run, c.InputID, c.Text, c.Host, c.Workspace, by)
}

func (w *world) Keys(_ context.Context, run string, c protocol.SendKeys) {
	w.did("keys %s %s", run, c.Keys)
}

func (w *world) Stop(_ context.Context, run string, c protocol.Stop) link.Outcome {
	return w.did("stop %s %s", run, c.Signal)
}

func (w *world) Resize(_ context.Context, run string, c protocol.Resize) {
	w.did("resize %s %d %d", run, c.Cols, c.Rows)
}

func (w *world) Decide(ctx context.Context, a link.Admission, by string, c protocol.Decide) link.Outcome {
	d := approvals.Decision{Decision: approvals.Deny, By: by, ArgsSHA256: c.ArgsSHA256, Answer: c.Answer, Answers: c.Answers, Text: c.Text, Scope: c.Scope, Seal: a.Signed}
	if a.Command.Type == protocol.RunApprove {
		d.Decision = approvals.Approve
	}
	if err := w.approvals.Decide(ctx, a.Command.RunID, c.RequestID, d); err != nil {
		return link.Outcome{State: protocol.InputRejected, Error: err.Error()}
	}
	return link.Applied
}

func (w *world) RPC(_ context.Context, a link.Admission) (string, protocol.Response) {
	e := a.Command
	var d struct {
		RequestID string `json:"request_id"`
	}
	_ = json.Unmarshal(e.Data, &d) // the link has read the id
	if w.rpc != nil {
		return w.rpc(a)
	}
	if !a.Repeated && e.Type != protocol.RPCMachineInfo {
		w.did("rpc %s %s %s", e.Type, e.RunID, e.Data)
	}
	return e.RunID, protocol.Response{RequestID: d.RequestID, OK: true, RPCType: e.Type, Result: w.result}
}

// Commit implements approvals.Events.
func (w *world) Commit(context.Context, string, []approvals.Event, []approvals.Row) error { return nil }

func (w *world) refused(_ string, what protocol.OwnRefused) error {
	w.change(func() { w.refusals = append(w.refusals, what) })
	return nil
}

// at returns the option for a server.
func at(s sealer.Server) func(context.Context) (sealer.Server, error) {
	return func(context.Context) (sealer.Server, error) { return s, nil }
}

// Roster implements sealer.Server.
func (w *world) Roster(_ context.Context, _ string, after int64) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lines == nil {
		return nil, machineapi.ErrUnknownAccount
	}
	return slices.Concat(w.lines[min(after, int64(len(w.lines))):]...), nil
}

// keyServer has the key records and histories at a server.
type keyServer struct {
	records   [][]byte          // by epoch, from 1
	histories map[string][]byte // by device
	shares    map[string][]byte // by id
	offline   bool
	oldest    int64 // the lowest epoch of the stored events
	older     bool  // the server is an older one, which does not know it
	asked     int   // number of requests for the lowest epoch
}

var errOffline = errors.New("the server is offline")

// KeyRecords implements sealer.Server.
func (w *world) KeyRecords(_ context.Context, _, _ string, after int64) (text []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.keys.offline:
		return nil, errOffline
	case len(w.keys.records) == 0:
		return nil, machineapi.ErrUnknownAccount
	}
	for _, l := range w.keys.records[min(after, int64(len(w.keys.records))):] {
		text = append(append(text, l...), '\n')
	}
	return text, nil
}

// PublishKeys implements sealer.Server.
func (w *world) PublishKeys(_ context.Context, _ string, record []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys.offline {
		return errOffline
	}
	var known seal.EpochPosition
	if n := len(w.keys.records); n > 0 {
		last, err := w.roster.VerifyKeyRecord(w.keys.records[n-1], machineID, known)
		if err != nil {
			return err
		}
		known = last.Position()
	}
	k, err := w.roster.VerifyKeyRecord(record, machineID, known)
	var why *seal.Refusal
	switch {
	case errors.As(err, &why) && why.Code == seal.RosterFork:
		return &machineapi.Error{Code: protocol.RosterConflict, Message: why.Why}
	case errors.As(err, &why):
		return &machineapi.Error{Code: protocol.Code(why.Code), Message: why.Why}
	case k.Position() == known:
		return nil
	}
	w.keys.records = append(w.keys.records, slices.Clone(record))
	return nil
}

// OldestEpoch implements sealer.Server.
func (w *world) OldestEpoch(context.Context, string, string) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys.asked++
	switch {
	case w.keys.offline:
		return 0, errOffline
	case w.keys.older:
		return 0, machineapi.ErrUnsupported
	}
	return w.keys.oldest, nil
}

// PublishHistory implements sealer.Server.
func (w *world) PublishHistory(_ context.Context, _, _, device string, history []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys.offline {
		return errOffline
	}
	if w.keys.histories == nil {
		w.keys.histories = map[string][]byte{}
	}
	w.keys.histories[device] = slices.Clone(history)
	return nil
}

// PublishShare implements sealer.Server.
func (w *world) PublishShare(_ context.Context, account, share string, text []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys.offline {
		return errOffline
	}
	if w.keys.shares == nil {
		w.keys.shares = map[string][]byte{}
	}
	w.keys.shares[share] = slices.Clone(text)
	return seal.CheckShare(text, account, machineID, share)
}

// Publish implements sealer.Server.
func (w *world) Publish(_ context.Context, _ string, text []byte) error {
	w.change(func() { w.lines = [][]byte{text} })
	return nil
}

func (w *world) request(run, id string) *protocol.PermissionRequested {
	for _, q := range w.approvals.Open(run) {
		if q.RequestID == id {
			return &q
		}
	}
	return nil
}

// ask opens a request. Its decision is an effect.
func (w *world) ask(run, id string) {
	w.t.Helper()
	r := approvals.Request{Data: protocol.PermissionRequested{RequestID: id, Reason: protocol.ReasonPermission, Prompt: "Remove " + run + "?", ArgsSHA256: strings.Repeat("ab", 32), OpArgs: json.RawMessage(`{"path":"` + run + `"}`), Risk: "high"}}
	r.Apply = func(_ context.Context, d approvals.Decision) ([]approvals.Event, error) {
		w.did("%s %s %s %s %s by %s", d.Decision, run, id, d.Scope, d.Text, d.By)
		return nil, nil
	}
	if _, err := w.approvals.Submit(context.Background(), run, r); err != nil {
		w.t.Fatal(err)
	}
}

// command is a command before it is signed and sealed.
type command struct {
	typ, run, id string // id is that of the envelope
	data         string // JSON
	change       func(s *seal.Statement)
	// replace is a text in the content and its replacement after the command was signed.
	replace [2]string
	// changeFrame changes the frame after the command was sealed, as a server can.
	changeFrame func(e *protocol.Envelope, c *seal.SealedCommand)
	by          string    // name of the device; "" means phone
	link        *seal.Key // secret of the link of which the device is the guest
	plain       bool      // not signed or sealed
}

// statement returns the statement that the device signs.
func (w *world) statement(c *command, d *signer) seal.Statement {
	w.t.Helper()
	kinds := map[string]string{protocol.RunSendInput: seal.KindInput, protocol.RunSendKeys: seal.KindKeys, protocol.RunStop: seal.KindStop, protocol.RunResize: seal.KindResize,
		protocol.RunApprove: seal.KindDecide, protocol.RunDeny: seal.KindDecide}
	var data struct {
		RequestID string `json:"request_id"`
		InputID   string `json:"input_id"`
		Scope     string `json:"scope"`
	}
	if err := json.Unmarshal([]byte(c.data), &data); err != nil {
		w.t.Fatal(err)
	}
	s := seal.Statement{Account: w.roster.Account(), Host: machineID, Run: c.run, Kind: kinds[c.typ], ID: c.id, Fresh: w.sealer.Token(), Roster: w.roster.Head()}
	if s.Kind == "" {
		s.Kind = seal.KindRPC
	}
	if id := data.InputID + data.RequestID; id != "" {
		s.ID = id
	}
	d.counter++
	s.Counter = d.counter
	switch s.Kind {
	case seal.KindInput, seal.KindKeys:
		s.After = d.inputs[c.run]
	case seal.KindDecide:
		s.Decision = map[string]string{protocol.RunApprove: "approve", protocol.RunDeny: "deny"}[c.typ]
		if s.Scope = data.Scope; s.Scope == "" {
			s.Scope = "once"
		}
		if q := w.request(c.run, s.ID); q != nil {
			text, err := json.Marshal(q)
			if err != nil {
				w.t.Fatal(err)
			}
			if s.RequestSHA256, err = seal.HashRequest(text); err != nil {
				w.t.Fatal(err)
			}
			s.Fresh, s.ArgsSHA256 = q.Fresh, q.ArgsSHA256
		} else {
			s.RequestSHA256 = strings.Repeat("cd", 32)
		}
	}
	return s
}

// frame returns the frame with a command, sealed for the machine's present epoch as a device does.
// A device without keys of the epoch uses another key.
func (w *world) frame(c command) []byte {
	w.t.Helper()
	e := protocol.Envelope{Type: c.typ, TS: "2026-01-02T15:04:05.000Z", MachineID: machineID, RunID: c.run, ID: c.id, Data: json.RawMessage(c.data)}
	if c.plain {
		return e.Append(nil)
	}
	d := w.devices[cmp.Or(c.by, "phone")]
	s := w.statement(&c, d)
	if c.change != nil {
		c.change(&s)
	}
	signed, err := s.Sign(d.keys, e.Data, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	signed.Content = bytes.Replace(signed.Content, []byte(c.replace[0]), []byte(c.replace[1]), 1)
	present, err := w.sealer.Sealing(1)
	if err != nil {
		w.t.Fatal(err)
	}
	epoch := *present.Epoch
	if _, ok := epoch.Commands[d.id]; !ok {
		epoch.Commands = map[string]seal.Key{d.id: {}}
	}
	sealed, err := epoch.SealCommand(signed)
	if c.link != nil {
		sealed, err = seal.SealGuestCommand(&epoch, c.link.GuestKey(), c.link.ShareID(), d.keys, signed)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	e.ID = sealed.ID
	switch {
	case strings.HasPrefix(e.Type, "rpc."):
		e.Type = protocol.RPCSealed
	case e.Type == protocol.RunApprove || e.Type == protocol.RunDeny:
		e.Type = protocol.RunDecide
	}
	if c.changeFrame != nil {
		c.changeFrame(&e, sealed)
	}
	e.Enc = seal.EncOf(sealed.Epoch)
	if e.Data, err = json.Marshal(sealed); err != nil {
		w.t.Fatal(err)
	}
	return e.Append(nil)
}

func (w *world) send(frame []byte) {
	w.t.Helper()
	if err := w.conn.Write(context.Background(), websocket.MessageText, frame); err != nil {
		w.t.Fatal(err)
	}
}

// applied records that the machine has accepted an input of a device.
func (d *signer) applied(run string) { d.inputs[run] = d.counter }

// ledger returns the lines of the ledger.
func (w *world) ledger() string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.state, "ledger.ndjson"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) log() *slog.Logger { return slog.New(slog.DiscardHandler) }

// localDecision is a decision of a process on the machine.
func localDecision(decision string) approvals.Decision {
	return approvals.Decision{Decision: decision, Actor: "cli", Local: &approvals.Process{UID: 1000, PID: 7}}
}

// copyAccount copies the files of the account to another state directory.
func (w *world) copyAccount(state string) {
	w.t.Helper()
	if err := os.CopyFS(filepath.Join(state, "seal"), os.DirFS(filepath.Join(w.state, "seal"))); err != nil {
		w.t.Fatal(err)
	}
	all, err := os.ReadDir(filepath.Join(state, "seal"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range all { // os.CopyFS makes files readable by all
		if err := os.Chmod(filepath.Join(state, "seal", f.Name()), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}
