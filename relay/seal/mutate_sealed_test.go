package seal

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// eachByte calls f with a text in which one byte is changed.
func eachByte(r *rand.Rand, text []byte, f func(i int, text []byte)) {
	for i := range text {
		if !randtest.Sampled(i) {
			continue
		}
		for _, mask := range []byte{1, 0x20, byte(1 + r.IntN(255))} {
			b := slices.Clone(text)
			b[i] ^= mask
			f(i, b)
		}
	}
}

// TestMutatedRecords changes each byte and each member of a key record, a history and a beat. None
// may be accepted.
func TestMutatedRecords(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(7, 8))
	e, _, first := w.newEpoch(EpochPosition{}, now)
	_, record, err := w.roster.NewEpoch(hostID, w.keys["host"], first, map[string]string{"a": "b"}, now)
	if err != nil {
		t.Fatal(err)
	}
	phone, keys := w.ids["phone"], w.keys["phone"]
	history, err := w.roster.NewHistory(hostID, w.keys["host"], phone, []*Epoch{e})
	if err != nil {
		t.Fatal(err)
	}
	host := w.keys["host"].Public()
	beat, err := NewBeat(w.keys["host"], w.roster.Account(), hostID, map[string]End{"run_1": {7, encode64(make([]byte, 16))}}, w.fresh.Token(now))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		read func(text []byte) error
	}{
		"key record": {record, func(text []byte) error {
			_, err := w.roster.VerifyKeyRecord(text, hostID, first)
			return err
		}},
		"history": {history, func(text []byte) error {
			_, err := w.roster.OpenHistory(text, hostID, phone, keys)
			return err
		}},
		"beat": {beat, func(text []byte) error {
			_, err := ReadBeat(text, w.roster.Account(), hostID, host, start)
			return err
		}},
	} {
		if err := c.read(c.text); err != nil {
			t.Fatal(err)
		}
		n := 0
		eachByte(r, c.text, func(i int, text []byte) {
			n++
			if codeOf(t, c.read(text)) == "" {
				t.Errorf("%s with another byte %d is accepted: %s", name, i, text)
			}
		})
		mutateText(t, r, c.text, func(path string, _ bool, text []byte) {
			n++
			if codeOf(t, c.read(text)) == "" {
				t.Errorf("%s with another %s is accepted: %s", name, path, text)
			}
		})
		if n < 60 {
			t.Errorf("only %d mutations of a %s", n, name)
		}
	}
}

// TestMutatedEvents changes each byte and each member of events, without and with the run's key.
// None may be accepted as content, or as a head or gap.
func TestMutatedEvents(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(9, 10))
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	rec := w.newRecorder(e, "run_1")
	rec.write("run.output", `{"text":"a"}`)
	rec.write("run.output", `{"text":"b"}`)
	rec.write("run.permission_requested", string(openRequest))
	rec.write("run.input", `{"input_id":"in_1"}`)
	rec.drop(2, 2)
	host := w.keys["host"].Public()
	refused := func(what string, f vectorEvent) {
		t.Helper()
		if _, _, _, err := f.open([]*Epoch{e}); codeOf(t, err) == "" {
			t.Errorf("event %d with another %s is accepted", f.Seq, what)
		}
	}
	for i, frame := range rec.events {
		for _, change := range []func(f *vectorEvent){
			func(f *vectorEvent) { f.Type = "run.exited" }, func(f *vectorEvent) { f.Type = TypeHead }, func(f *vectorEvent) { f.Type += "x" },
			func(f *vectorEvent) { f.TS = formatTime(start) }, func(f *vectorEvent) { f.TS = "" }, func(f *vectorEvent) { f.Run += "0" },
			func(f *vectorEvent) { f.Data = bytes.Replace(f.Data, []byte(`"prev"`), []byte(`"from":1,"prev"`), 1) },
			func(f *vectorEvent) { f.Seq++ }, func(f *vectorEvent) { f.Seq = -f.Seq }, func(f *vectorEvent) { f.Enc = json.RawMessage(`null`) },
		} {
			f := frame
			change(&f)
			refused("frame", f)
		}
		mutateText(t, r, frame.Enc, func(path string, _ bool, text []byte) {
			refused(path, vectorEvent{frame.Type, frame.TS, frame.Run, frame.Seq, text, frame.Data})
		})
		mutateText(t, r, frame.Data, func(path string, _ bool, text []byte) {
			refused(path, vectorEvent{frame.Type, frame.TS, frame.Run, frame.Seq, frame.Enc, text})
		})
		eachByte(r, frame.Data, func(_ int, text []byte) {
			refused("byte", vectorEvent{frame.Type, frame.TS, frame.Run, frame.Seq, frame.Enc, text})
		})
		k, s, plain, err := frame.open([]*Epoch{e})
		if err != nil {
			t.Fatal(err)
		}
		if plain.Type != TypeHead && plain.Type != TypeGap {
			continue
		}
		forged := func(data []byte) {
			t.Helper()
			f := *plain
			f.Data = data
			if _, span, err := k.Follow(rec.before[i], s, &f, host); codeOf(t, err) == "" || span != (Span{}) {
				t.Errorf("a forged %s is accepted: %s", plain.Type, data)
			}
		}
		mutateText(t, r, plain.Data, func(_ string, _ bool, text []byte) { forged(text) })
		eachByte(r, plain.Data, func(_ int, text []byte) { forged(text) })
	}
}

// TestReaderCannotForge checks that a member of the account, who has the run's key, can change no
// event that a head covers.
func TestReaderCannotForge(t *testing.T) {
	w := newWorld(t)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	host := w.keys["host"].Public()
	rec := w.newRecorder(e, "run_1")
	for _, text := range []string{`{"text":"a"}`, `{"text":"b"}`, `{"text":"c"}`} {
		rec.write("run.output", text)
	}
	rec.write("run.permission_requested", string(openRequest))
	for i := range 4 {
		forged := w.newRecorder(e, "run_1")
		forged.chain = rec.before[i]
		forged.write("run.output", `{"text":"forged"}`)
		for j := i + 1; j < 4; j++ { // seal the later events again, after the forged one
			_, _, plain, err := rec.events[j].open([]*Epoch{e})
			if err != nil {
				t.Fatal(err)
			}
			forged.add(forged.key.Seal(*plain, forged.chain))
		}
		_, _, plain, err := rec.events[4].open([]*Epoch{e})
		if err != nil {
			t.Fatal(err)
		}
		s, err := forged.key.sealAt(*plain, 5, forged.chain.Tag) // the host's head
		if err != nil {
			t.Fatal(err)
		}
		events := append(slices.Clone(rec.events[:i]), forged.events...)
		c, spans, _, err := follow(Chain{}, append(events, eventFrame(s)), []*Epoch{e}, host)
		if codeOf(t, err) != BadSignature || len(spans) > 0 || c.Seq != 4 {
			t.Errorf("a forged event %d: %v, confirmed %v", i+1, err, spans)
		}
	}
}

// TestFollowAfterHole checks that events after a missing one are read, and confirmed again from the
// next head on.
func TestFollowAfterHole(t *testing.T) {
	w := newWorld(t)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	rec := w.newRecorder(e, "run_1")
	rec.write("run.output", `{"text":"a"}`)
	rec.write("run.output", `{"text":"b"}`)
	rec.write("run.permission_requested", string(openRequest))
	rec.write("run.output", `{"text":"c"}`)
	rec.head()
	var c Chain
	var spans []Span
	var codes []Code
	for _, frame := range append(slices.Clone(rec.events[:1]), rec.events[2:]...) {
		k, s, plain, err := frame.open([]*Epoch{e})
		if err != nil {
			t.Fatal(err)
		}
		var span Span
		c, span, err = k.Follow(c, s, plain, w.keys["host"].Public())
		spans, codes = append(spans, span), append(codes, codeOf(t, err))
	}
	if !slices.Equal(codes, []Code{"", Reordered, "", "", ""}) || !slices.Equal(spans, []Span{{}, {}, {}, {}, {4, 5}}) || c != rec.chain {
		t.Errorf("codes %q, confirmed %v, chain %+v", codes, spans, c)
	}
	if c := StartAt(&SealedEvent{Seq: 3, Data: SealedData{Prev: "x"}}); c != (Chain{Seq: 2, Tag: "x", Partial: true}) {
		t.Errorf("a run is read from %+v on", c)
	}
}

// TestMutatedCommands changes each byte and each member of a sealed command and its response. None
// may be accepted.
func TestMutatedCommands(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(11, 12))
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	sealed, err := e.SealCommand(w.sign(w.statement(KindRPC), "phone", `{"rpc_type":"rpc.fs.read"}`))
	if err != nil {
		t.Fatal(err)
	}
	open := func(what, run, kind string, text []byte) {
		t.Helper()
		s, err := ParseSealedCommand(text)
		if err == nil {
			_, err = e.OpenCommand(run, kind, s)
		}
		if codeOf(t, err) == "" {
			t.Errorf("a command with another %s is accepted: %s", what, text)
		}
	}
	text := encode(sealed)
	open("run", "run_2", KindRPC, text)
	open("kind", "run_1", KindDecide, text)
	mutateText(t, r, text, func(path string, _ bool, text []byte) { open(path, "run_1", KindRPC, text) })
	eachByte(r, text, func(_ int, text []byte) { open("byte", "run_1", KindRPC, text) })
	ct, err := e.SealResponse("run_1", sealed, json.RawMessage(`{"ok":true}`))
	if err != nil {
		t.Fatal(err)
	}
	eachByte(r, []byte(ct), func(_ int, text []byte) {
		if _, err := e.OpenResponse("run_1", sealed, string(text)); codeOf(t, err) == "" {
			t.Errorf("a changed response is accepted: %s", text)
		}
	})
}

// TestPadding checks the sizes of padded texts: at least 256 bytes, and at most 6.3 % longer.
func TestPadding(t *testing.T) {
	for n := range 5000 {
		size := paddedSize(n)
		if size <= n || size < 256 || size > 256 && float64(size) > 1.0626*float64(n+1) || paddedSize(size-1) != size {
			t.Errorf("%d bytes are padded to %d", n, size)
		}
	}
	if size := paddedSize(MaxPlaintext); size != MaxPlaintext+1 || len(encode64(make([]byte, size+28))) > maxSealed {
		t.Errorf("the longest text is padded to %d", size)
	}
	if size := paddedSize(MaxPlaintext + 1); len(encode64(make([]byte, size+28))) <= maxSealed {
		t.Errorf("a longer text is padded to %d", size)
	}
	k := Key{1}.aead()
	ct, err := sealText(k, nil, make([]byte, MaxPlaintext))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := openText(k, nil, ct); err != nil || len(text) != MaxPlaintext {
		t.Errorf("the longest text is opened with %d bytes: %v", len(text), err)
	}
	if _, err := sealText(k, nil, make([]byte, MaxPlaintext+1)); codeOf(t, err) != BadMessage {
		t.Errorf("a longer text is sealed: %v", err)
	}
}
