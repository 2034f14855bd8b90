package runs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// hostileWorld has the sealed runs of a machine, and a server that shows what it likes.
type hostileWorld struct {
	t        *testing.T
	state    string
	server   *connect.Endpoint
	host     *seal.Keys
	beat     []byte                         // that the server shows
	hideKeys bool                           // the server denies that there are key records
	runs     map[string][]protocol.Envelope // as the machine has sent them
	plain    map[string][]seal.Event
	add      func(k *seal.Keys, kind, id string) seal.Member // adds a member
	begin    func()                                          // begins an epoch
	epochs   []*seal.Epoch
}

const hostileEvents = 40 // of a run

func newHostileWorld(t *testing.T) *hostileWorld {
	t.Helper()
	w := &hostileWorld{t: t, state: t.TempDir(), runs: map[string][]protocol.Envelope{}, plain: map[string][]seal.Event{}}
	now := time.Now().UTC().Truncate(time.Millisecond)
	roster, recovery := seal.NewAccount(seal.NewRecoveryCode(), now)
	w.add = func(k *seal.Keys, kind, id string) seal.Member {
		m := seal.NewMember(k, roster.Account(), kind, id)
		m.User = "ada"
		if kind == seal.Device {
			m.Role, m.Page = seal.Owner, seal.PageCLI
		}
		line, err := roster.AddMember(seal.ByRecovery, recovery, m, now)
		w.must(err)
		w.must(roster.Append(line))
		return m
	}
	host, own := seal.NewKeys(), seal.NewKeys()
	w.host = host
	w.add(host, seal.Host, "desk")
	var records [][]byte
	var last seal.EpochPosition
	w.begin = func() {
		e, text, err := roster.NewEpoch("desk", host, last, nil, now)
		w.must(err)
		k, err := roster.VerifyKeyRecord(text, "desk", last)
		w.must(err)
		last, records, w.epochs = k.Position(), append(records, append(text, '\n')), append(w.epochs, e)
	}
	w.begin()
	self := w.add(own, seal.Device, "") // after the first epoch
	history, err := roster.NewHistory("desk", host, self.ID, w.epochs)
	w.must(err)
	w.begin()
	w.begin()
	for _, run := range []string{"run_a", "run_b"} {
		w.fill(run, host, w.epochs, now)
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case w.hideKeys && strings.HasSuffix(r.URL.Path, "/keys"):
			http.Error(rw, `{"error":{"code":"unknown_account","message":"there are none"}}`, http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "/keys"):
			after, err := strconv.Atoi(r.URL.Query().Get("after"))
			w.must(err)
			_, _ = rw.Write(slices.Concat(records[after:]...))
		case strings.HasSuffix(r.URL.Path, "/history"):
			_, _ = rw.Write(history)
		case r.URL.Path == "/rpc":
			_ = json.NewEncoder(rw).Encode(map[string]any{"data": map[string]any{"ok": true, "result": protocol.MachineInfo{SealInfo: protocol.SealInfo{Fresh: seal.NewFreshKey().Token(time.Now()), Beat: w.beat}}}})
		default:
			_, _ = rw.Write(roster.Text()[strings.LastIndex(strings.TrimSpace(string(roster.Text())), "\n")+1:])
		}
	}))
	t.Cleanup(s.Close)
	_, err = device.Create(w.state, own, roster)
	w.must(err)
	token := filepath.Join(w.state, "token")
	w.must(os.WriteFile(token, []byte("t"), 0o600))
	w.server, err = connect.ServerEnd(&console.Console{Dir: w.state}, s.URL, token)
	w.must(err)
	return w
}

func (w *hostileWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// fill seals the events of a run, in all epochs and with heads.
func (w *hostileWorld) fill(run string, host *seal.Keys, epochs []*seal.Epoch, now time.Time) {
	var c seal.Chain
	types := []string{"run.output", "run.emit", "run.input", "run.permission_requested", "run.awaiting_input"}
	for i := range hostileEvents {
		key := epochs[i*len(epochs)/hostileEvents].RunKey(run)
		e := seal.Event{Type: types[i%len(types)], TS: "2026-01-02T15:04:05.000Z", Data: fmt.Appendf(nil, `{"input_id":"i%d","request_id":"q%d","text":"%s %d"}`, i, i, run, i)}
		if i == 0 {
			e.Type = "run.started"
		}
		var s *seal.SealedEvent
		var err error
		if i%8 == 7 {
			e = seal.Event{Type: seal.TypeHead}
			s, c, err = key.SealHead(host, c, seal.NewFreshKey().Token(now), now)
		} else {
			s, c, err = key.Seal(e, c)
		}
		w.must(err)
		data, err := json.Marshal(s.Data)
		w.must(err)
		w.runs[run] = append(w.runs[run], protocol.Envelope{Type: s.Type, TS: s.TS, MachineID: "desk", RunID: run, Seq: s.Seq, Enc: seal.EncOf(s.Enc.Epoch), Data: data})
		w.plain[run] = append(w.plain[run], e)
	}
}

// manipulations are what a server can do to the events of run_a. Each changes the frames at i.
var manipulations = map[string]func(w *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope{
	"drop": func(_ *hostileWorld, _ *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		return slices.Delete(all, i, i+1)
	},
	"repeat": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		return slices.Insert(all, r.IntN(len(all)), all[i])
	},
	"reorder": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		j := r.IntN(len(all))
		all[i], all[j] = all[j], all[i]
		return all
	},
	"swap the data": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i].Data = all[r.IntN(len(all))].Data
		return all
	},
	"swap enc": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i].Enc = all[r.IntN(len(all))].Enc
		return all
	},
	"another run": func(w *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i] = w.runs["run_b"][i%hostileEvents]
		if r.IntN(2) == 0 {
			all[i].RunID = "run_a"
		}
		return all
	},
	"another number": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i].Seq += 1 + r.Int64N(3)
		return all
	},
	"another type": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i].Type = []string{"run.output", "run.input", "run.exited", "run.gap", "run.sealed", "run.head", "run.emit"}[r.IntN(7)]
		return all
	},
	"another time": func(_ *hostileWorld, _ *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i].TS = "2026-01-02T15:04:06.000Z"
		return all
	},
	"plain text": func(_ *hostileWorld, _ *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i].Type, all[i].Enc, all[i].Data = "run.output", nil, json.RawMessage(`{"stream":"stdout","text":"forged"}`)
		return all
	},
	"a member": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		members := map[string]any{}
		_ = json.Unmarshal(all[i].Data, &members) // it was encoded by the test
		name := []string{"ct", "prev", "request_id", "input_id", "from", "other"}[r.IntN(6)]
		members[name] = []any{"", "x", 1, nil, "q1", strings.Repeat("A", 22)}[r.IntN(6)]
		all[i].Data, _ = json.Marshal(members)
		return all
	},
	"a bit": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		data := slices.Clone(all[i].Data)
		data[r.IntN(len(data))] ^= 1 << r.IntN(7)
		all[i].Data = data
		return all
	},
	"a shorter text": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		var d seal.SealedData
		_ = json.Unmarshal(all[i].Data, &d) // it was encoded by the test, or is invalid
		d.CT = d.CT[:r.IntN(len(d.CT)+1)]
		all[i].Data, _ = json.Marshal(d)
		return all
	},
	"another version": func(_ *hostileWorld, r *rand.Rand, all []protocol.Envelope, i int) []protocol.Envelope {
		all[i].Enc = json.RawMessage([]string{`{"epoch":1,"v":2}`, `{"epoch":9,"v":1}`, `{}`, `{"epoch":0,"v":1}`, `{"epoch":2,"v":1}`}[r.IntN(5)])
		return all
	},
}

// show follows the frames of run_a. It fails if something is shown that the machine has not sent in
// that place, or if something is missing without a note.
func (w *hostileWorld) show(what string, frames []protocol.Envelope) {
	w.t.Helper()
	notes := 0
	o, err := newOpener(w.t.Context(), w.state, w.server, "desk", func(string, ...any) { notes++ })
	w.must(err)
	last, read := int64(0), false
	for _, e := range frames {
		before := notes
		seq, run := e.Seq, e.RunID
		shown := o.next(w.t.Context(), &e)
		switch {
		case !shown && e.Type == seal.TypeHead && e.Enc == nil:
			if run == "run_a" {
				last, read = max(last, seq), true
			}
			continue
		case !shown && notes == before:
			w.t.Fatalf("%s: event %d is hidden without a note", what, seq)
		case !shown:
			continue
		case e.Type == protocol.RunExited && string(e.Data) == `{"exit_code":-1}`: // the server may end a run
			continue
		}
		if len(o.sealed) == 0 && notes > before { // shown as not sealed, before any sealed event
			continue
		}
		want := w.plain[run]
		if seq < 1 || seq > int64(len(want)) || want[seq-1].Type != e.Type || string(want[seq-1].Data) != string(e.Data) {
			w.t.Fatalf("%s: shown event %d of %s: %s %s", what, seq, run, e.Type, e.Data)
		}
		if run != "run_a" {
			continue
		}
		if read && seq != last+1 && notes == before {
			w.t.Fatalf("%s: event %d is shown after %d without a note", what, seq, last)
		}
		last, read = seq, true
	}
}

// TestHostileServer changes the events of a run in 1,200 ways, at night in 10,000. Events that the
// machine has not sent are not shown, and missing ones are reported.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	w := newHostileWorld(t)
	w.show("unchanged", slices.Clone(w.runs["run_a"]))
	names := make([]string, 0, len(manipulations))
	for name := range manipulations {
		names = append(names, name)
	}
	slices.Sort(names)
	seeds := uint64(300)
	if randtest.Night() {
		seeds = 2500
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		frames := slices.Clone(w.runs["run_a"])
		what := fmt.Sprintf("seed %d", seed)
		for range 4 {
			name := names[r.IntN(len(names))]
			frames = manipulations[name](w, r, frames, r.IntN(len(frames)))
			what += ", " + name
		}
		w.show(what, frames)
	}
}

// TestWithheldEnd withholds the newest events of a run, and changes or repeats what the machine
// reports about them.
func TestWithheldEnd(t *testing.T) {
	t.Parallel()
	w := newHostileWorld(t)
	d, err := device.Load(w.state)
	w.must(err)
	account, fresh, now := d.Roster.Account(), seal.NewFreshKey(), time.Now()
	beat := func(by *seal.Keys, at time.Duration, seq int64) []byte {
		text, err := seal.NewBeat(by, account, "desk", map[string]seal.End{"run_a": {Seq: seq, Tag: strings.Repeat("A", 22)}}, fresh.Token(now.Add(at)))
		w.must(err)
		return text
	}
	var notes []string
	o, err := newOpener(t.Context(), w.state, w.server, "desk", func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
	w.must(err)
	show := func(from, to int) {
		for _, e := range w.runs["run_a"][from:to] {
			o.next(t.Context(), &e)
		}
	}
	check := func(what string, beat []byte, want string) {
		t.Helper()
		notes, w.beat = nil, beat
		o.checkEnd(t.Context(), "run_a", 0)
		if got := strings.Join(notes, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: notes = %q, want %q", what, got, want)
		}
	}
	check("nothing was read", beat(w.host, 0, 40), "events 1 to 40")
	show(0, 37)
	check("all events", beat(w.host, time.Second, 37), "")
	check("three events are missing", beat(w.host, 2*time.Second, 40), "events 38 to 40: the machine has sealed them, and the server withholds them")
	check("an older message", beat(w.host, time.Second, 37), "replayed")
	check("the same message again", beat(w.host, 2*time.Second, 37), "replayed")
	check("by another", beat(seal.NewKeys(), 3*time.Second, 37), "bad_signature")
	check("no message", nil, "the server has removed")
	show(37, 40)
	check("all events again", beat(w.host, 4*time.Second, 40), "")
}

// TestHiddenKeys hides the key records of a machine from a command line that has read none. It
// sends nothing then.
func TestHiddenKeys(t *testing.T) {
	t.Parallel()
	w := newHostileWorld(t)
	w.hideKeys = true
	s, err := device.NewSigner(t.Context(), w.state, w.server, "desk")
	w.must(err)
	c, err := s.Sign(t.Context(), seal.KindInput, protocol.RunSendInput, "run_a", "i1", map[string]string{"input_id": "i1", "text": "my secret"})
	if err == nil || !strings.Contains(err.Error(), "sends nothing that the server can read") {
		t.Errorf("command = %+v, error %v", c, err)
	}
}

// TestNewestKeys adds a device while a session lasts. The machine then begins an epoch. Its events
// are opened, and commands are sealed for it: the machine refuses those of an epoch that ended a
// day ago.
func TestNewestKeys(t *testing.T) {
	t.Parallel()
	w := newHostileWorld(t)
	s, err := device.NewSigner(t.Context(), w.state, w.server, "desk")
	w.must(err)
	o, err := newOpener(t.Context(), w.state, w.server, "desk", func(format string, args ...any) { t.Errorf(format, args...) })
	w.must(err)
	w.add(seal.NewKeys(), seal.Device, "")
	w.begin()
	w.fill("run_c", w.host, w.epochs[3:], time.Now())
	if e := w.runs["run_c"][0]; !o.next(t.Context(), &e) || e.Enc != nil {
		t.Errorf("event %d of epoch 4 is not opened: type %s, enc %s", e.Seq, e.Type, e.Enc)
	}
	c, err := s.Sign(t.Context(), seal.KindKeys, protocol.RunSendKeys, "run_a", "k1", protocol.SendKeys{Keys: "x"})
	w.must(err)
	if string(c.Enc) != string(seal.EncOf(4)) {
		t.Errorf("the keys are sealed for %s, want epoch 4", c.Enc)
	}
}
