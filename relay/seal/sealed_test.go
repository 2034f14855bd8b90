package seal

import (
	"encoding/json"
	"fmt"
	"time"
)

// vectorEvent is the frame of a sealed event.
type vectorEvent struct {
	Type string          `json:"type"`
	TS   string          `json:"ts"`
	Run  string          `json:"run_id"`
	Seq  int64           `json:"seq"`
	Enc  json.RawMessage `json:"enc"`
	Data json.RawMessage `json:"data"`
}

func eventFrame(s *SealedEvent) vectorEvent {
	return vectorEvent{s.Type, s.TS, s.Run, s.Seq, encode(s.Enc), encode(s.Data)}
}

// open opens an event with that of the epochs that it names.
func (e vectorEvent) open(epochs []*Epoch) (*RunKey, *SealedEvent, *Event, error) {
	s := &SealedEvent{Type: e.Type, TS: e.TS, Run: e.Run, Seq: e.Seq}
	if err := s.Parse(e.Enc, e.Data); err != nil {
		return nil, nil, nil, err
	}
	for _, epoch := range epochs {
		if epoch.N == s.Enc.Epoch {
			k := epoch.RunKey(s.Run)
			plain, err := k.Open(s)
			return k, s, plain, err
		}
	}
	return nil, nil, nil, refuse(OldEpoch, "the secret of epoch %d is unknown", s.Enc.Epoch)
}

// follow opens events and adds them to a chain. It stops at the first refusal.
func follow(c Chain, events []vectorEvent, epochs []*Epoch, host PublicKeys) (Chain, []Span, []*Event, error) {
	var spans []Span
	var plain []*Event
	for _, frame := range events {
		k, s, e, err := frame.open(epochs)
		if err != nil {
			return c, spans, plain, err
		}
		var span Span
		if c, span, err = k.Follow(c, s, e, host); err != nil {
			return c, spans, plain, err
		}
		if span != (Span{}) {
			spans = append(spans, span)
		}
		plain = append(plain, e)
	}
	return c, spans, plain, nil
}

// runSealed evaluates the vectors of sealed formats.
func (v *vectors) runSealed(in *inputs, format string) (map[string]any, error) {
	if format == "passkey" {
		k, name, err := openPasskey(in.Text, in.Account, Key(decode64(in.FreshKey, 32)))
		if err != nil {
			return nil, err
		}
		return map[string]any{"keys": string(k.Marshal()), "name": name}, nil
	}
	r, err := ParseRoster([]byte(v.Rosters[in.Roster]), "", Position{})
	if err != nil {
		return nil, err
	}
	host, _ := r.HostKeys(in.Host)
	switch format {
	case "key_record":
		return runKeyRecord(r, in)
	case "history":
		keys, err := ParseKeys([]byte(in.Keys))
		if err != nil {
			return nil, err
		}
		epochs, err := r.OpenHistory([]byte(in.Text), in.Host, in.To, keys)
		return map[string]any{"epochs": epochs}, err
	case "event":
		_, _, e, err := in.Events[0].open(in.Epochs)
		if err != nil {
			return nil, err
		}
		return map[string]any{"type": e.Type, "ts": e.TS, "data": string(e.Data)}, nil
	case "chain":
		var c Chain
		if in.Chain != nil {
			c = *in.Chain
		}
		c, spans, _, err := follow(c, in.Events, in.Epochs, host)
		confirmed := [][2]int64{}
		for _, s := range spans {
			confirmed = append(confirmed, [2]int64{s.From, s.To})
		}
		return map[string]any{"chain": string(encode(c)), "confirmed": confirmed}, err
	case "beat":
		b, err := ReadBeat([]byte(in.Text), r.Account(), in.Host, host, time.UnixMilli(in.Now))
		if err != nil {
			return nil, err
		}
		if in.Chain != nil {
			if err := b.Check(in.Run, *in.Chain); err != nil {
				return nil, err
			}
		}
		return map[string]any{"time": FreshTime(b.Fresh).UnixMilli(), "ends": string(encode(b.Ends))}, nil
	case "share":
		account, host, s, err := OpenShare([]byte(in.Text), *in.Secret)
		return map[string]any{"account": account, "host": host, "shared": s}, err
	case "sealed_command", "response":
		return runSealedCommand(in, format)
	case "guest":
		return runGuest(r, in, time.UnixMilli(in.Now))
	case "push":
		of := &SealedEvent{Type: in.Kind, Run: in.Run, Data: SealedData{RequestID: in.ID}}
		n, err := in.Epochs[0].OpenPush(of, in.To, in.CT)
		return map[string]any{"notice": string(encode(n))}, err
	}
	return nil, fmt.Errorf("unknown format %q", format)
}

func runKeyRecord(r *Roster, in *inputs) (map[string]any, error) {
	keys, err := ParseKeys([]byte(in.Keys))
	if err != nil {
		return nil, err
	}
	var known EpochPosition
	if in.KnownEpoch != nil {
		known = *in.KnownEpoch
	}
	rec, err := r.VerifyKeyRecord([]byte(in.Text), in.Host, known)
	if err != nil {
		return nil, err
	}
	e, err := rec.Open(in.To, keys)
	if err != nil {
		return nil, err
	}
	names, err := rec.OpenNames(e)
	return map[string]any{"epoch": e, "names": names, "position": rec.Position()}, err
}

func runSealedCommand(in *inputs, format string) (map[string]any, error) {
	s, err := ParseSealedCommand([]byte(in.Text))
	if err != nil {
		return nil, err
	}
	e, err := CommandEpoch(in.Epochs, s.Epoch, time.UnixMilli(in.Now))
	if err != nil {
		return nil, err
	}
	if format == "response" {
		data, err := e.OpenResponse(in.Run, s, in.CT)
		return map[string]any{"data": string(data)}, err
	}
	c, err := e.OpenCommand(in.Run, in.Kind, s)
	return map[string]any{"command": string(encode(c))}, err
}

// newEpoch creates an epoch of the world's host.
func (w *world) newEpoch(last EpochPosition, at time.Time) (*Epoch, []byte, EpochPosition) {
	w.t.Helper()
	e, text, err := w.roster.NewEpoch(hostID, w.keys["host"], last, map[string]string{hostID: "mbp", w.ids["phone"]: "Ada’s phone"}, at)
	if err != nil {
		w.t.Fatal(err)
	}
	rec, err := w.roster.VerifyKeyRecord(text, hostID, last)
	if err != nil {
		w.t.Fatal(err)
	}
	return e, text, rec.Position()
}

// recorder seals the events of a run.
type recorder struct {
	w      *world
	key    *RunKey
	chain  Chain
	before []Chain // the chain before each event
	events []vectorEvent
}

func (w *world) newRecorder(e *Epoch, run string) *recorder {
	return &recorder{w: w, key: e.RunKey(run)}
}

func (r *recorder) add(s *SealedEvent, next Chain, err error) {
	r.w.t.Helper()
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.before, r.events, r.chain = append(r.before, r.chain), append(r.events, eventFrame(s)), next
}

// write seals an event, and the head that it requires.
func (r *recorder) write(typ, data string) {
	r.w.t.Helper()
	r.add(r.key.Seal(Event{typ, formatTime(now), json.RawMessage(data)}, r.chain))
	if NeedsHead(typ) {
		r.head()
	}
}

func (r *recorder) head() {
	r.w.t.Helper()
	r.add(r.key.SealHead(r.w.keys["host"], r.chain, r.w.fresh.Token(now), now))
}

// drop replaces events from to to, which are sequence numbers, with a gap.
func (r *recorder) drop(from, to int64) {
	r.w.t.Helper()
	first := r.index(from)
	last := r.index(to)
	end := r.chain
	if last+1 < len(r.before) {
		end = r.before[last+1]
	}
	s, err := r.key.SealGap(r.w.keys["host"], from, r.before[first].Tag, "spool_full", end, now)
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.events = append(append(append([]vectorEvent{}, r.events[:first]...), eventFrame(s)), r.events[last+1:]...)
	r.before = append(append([]Chain{}, r.before[:first+1]...), r.before[last+1:]...)
}

func (r *recorder) index(seq int64) int {
	for i, e := range r.events {
		if e.Seq == seq {
			return i
		}
	}
	r.w.t.Fatalf("event %d is missing", seq)
	return 0
}
