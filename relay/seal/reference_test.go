package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

const python = "/usr/bin/python3"

// runReference runs testdata/reference.py. It skips the test if Python or its module cryptography
// is missing.
func runReference(t *testing.T, in any, out any, args ...string) {
	t.Helper()
	if exec.Command(python, "-c", "import cryptography").Run() != nil {
		t.Skip("the second implementation requires the Debian package python3-cryptography")
	}
	cmd := exec.Command(python, append([]string{"-B", "testdata/reference.py"}, args...)...)
	cmd.Stdin = bytes.NewReader(jsonwrite.MustEncode(in))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("reference.py: %v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
}

type result struct {
	Code Code           `json:"code"`
	Out  map[string]any `json:"out"`
}

// compareReference checks that the second implementation has the same result for each case.
func compareReference(t *testing.T, v *vectors) {
	t.Helper()
	var results []result
	runReference(t, v, &results, "check")
	for i, c := range v.Cases {
		got := results[i]
		if got.Code != c.Code || c.Code == "" && !sameJSON(got.Out, c.Out) {
			t.Errorf("%s: Python has %q %s, Go has %q %s\n%s", c.Name, got.Code, jsonwrite.MustEncode(got.Out), c.Code,
				jsonwrite.MustEncode(c.Out), jsonwrite.MustEncode(c.In))
		}
	}
	if len(results) != len(v.Cases) {
		t.Errorf("%d results of %d cases", len(results), len(v.Cases))
	}
}

// TestReferenceVectors checks all vectors with the second implementation.
func TestReferenceVectors(t *testing.T) { compareReference(t, readVectors(t)) }

// randomCases is the number of random messages of each format and in each direction.
func randomCases() int {
	if randtest.Night() {
		return 10_000
	}
	return 100
}

// TestReferenceVerifies signs and seals random texts of each format, of which one half is changed
// afterwards, and compares the results of both implementations.
func TestReferenceVerifies(t *testing.T) {
	w := newWorld(t)
	v := &vectors{Rosters: map[string]string{"main": string(w.roster.Text())}}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range randomCases() {
		v.Cases = append(v.Cases, vector{Format: "command", In: w.randomCommand(r, i)}, vector{Format: "roster", In: w.randomLine(r, i)})
		v.Cases = append(v.Cases, w.randomSealed(r, i)...)
	}
	accepted := 0
	for i := range v.Cases {
		c := &v.Cases[i]
		c.Name = fmt.Sprint(c.Format, " ", i)
		out, err := v.run(&c.In, c.Format)
		c.Code = codeOf(t, err)
		if err == nil {
			accepted++
			c.Out = out
		}
	}
	if accepted < len(v.Cases)/4 || accepted > len(v.Cases)*3/4 {
		t.Errorf("%d of %d cases are accepted", accepted, len(v.Cases))
	}
	compareReference(t, v)
}

// TestReferenceSigns verifies random messages that the second implementation has signed.
func TestReferenceSigns(t *testing.T) {
	w := newWorld(t)
	keys := map[string]string{}
	for name, k := range w.keys {
		keys[name] = string(k.Marshal())
	}
	link := NewLink("https://pages.example/", w.roster.Account(), "https://relay.example", now.Add(time.Minute))
	var v vectors
	runReference(t, map[string]any{
		"roster": string(w.roster.Text()), "keys": keys, "host": hostID, "fresh_key": encode64(w.fresh[:]),
		"now": now.UnixMilli(), "request": vectorRequest(*request()), "link": link.String(),
	}, &v, "make", fmt.Sprint(randomCases()))
	for _, c := range v.Cases {
		out, err := v.run(&c.In, c.Format)
		if err != nil || c.Code != "" || !sameJSON(out, c.Out) {
			t.Errorf("%s: Go has %v %s, Python has %q %s\n%s", c.Name, err, jsonwrite.MustEncode(out), c.Code, jsonwrite.MustEncode(c.Out), jsonwrite.MustEncode(c.In))
		}
	}
	if len(v.Cases) != 15*randomCases() {
		t.Errorf("%d cases", len(v.Cases))
	}
}

// randomName returns a text of letters that JSON, UTF-8 and UTF-16 encode differently.
func randomName(r *rand.Rand) string {
	letters := []rune("ab\"\\/<&é€\u2028\ue000😀\uffff\t")
	s := ""
	for range 1 + r.IntN(6) {
		s += string(letters[r.IntN(len(letters))])
	}
	return s
}

// randomValue returns a random JSON value.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return r.Int64() - r.Int64()
	case n == 3:
		return json.Number(fmt.Sprintf("%.9fe%d", r.NormFloat64(), r.IntN(60)-30)) // %v may have an exponent
	case n < 6 || depth == 0:
		return randomName(r)
	case n == 6:
		return []any{randomValue(r, depth-1), randomValue(r, depth-1)}
	}
	return map[string]any{randomName(r): randomValue(r, depth-1), randomName(r): randomValue(r, depth-1)}
}

// flip changes one letter of a text in one half of the calls.
func flip(r *rand.Rand, text []byte) []byte {
	if r.IntN(2) == 0 {
		return text
	}
	out := bytes.Clone(text)
	for {
		if i := r.IntN(len(out)); out[i] >= '0' && out[i] <= '9' || out[i] >= 'a' && out[i] <= 'z' {
			out[i] ^= 1
			return out
		}
	}
}

func (w *world) randomCommand(r *rand.Rand, i int) inputs {
	kind := kinds[r.IntN(len(kinds))]
	s := w.statement(kind)
	s.ID, s.Counter = fmt.Sprint("req_", i), 1+r.Int64N(maxInt)
	s.Fresh = w.fresh.Token(now.Add(-time.Duration(r.IntN(70_000)) * time.Millisecond))
	n := 1 + r.IntN(len(w.roster.hashes))
	s.Roster = Position{int64(n), w.roster.hashes[n-1]}
	var state DeviceState
	for range r.IntN(20) {
		state.use(max(1, s.Counter+r.Int64N(2000)-1000))
	}
	c := w.sign(s, []string{"cli", "phone", "browser"}[r.IntN(3)], string(jsonwrite.MustEncode(map[string]any{randomName(r): randomValue(r, 3)})))
	if text := flip(r, c.Statement); json.Valid(text) {
		c.Statement = text
	}
	in := inputs{Roster: "main", Command: &c, Host: hostID, FreshKey: encode64(w.fresh[:]), Kind: kind, Run: s.Run, ID: s.ID, State: encode(state), Now: now.UnixMilli()}
	if kind == KindDecide {
		in.Request = (*vectorRequest)(request())
	}
	return in
}

func (w *world) randomLine(r *rand.Rand, i int) inputs {
	by := []string{"cli", "phone"}[r.IntN(2)]
	l := line{By: w.ids[by], Kind: kindRemove, Body: encode(removeBody{w.ids["guest"]})}
	switch r.IntN(3) {
	case 0:
		m := NewMember(NewKeys(), w.roster.Account(), []string{Device, Host}[i%2], fmt.Sprint("host_", i))
		m.User = randomName(r)
		if m.Kind == Device {
			m.Role, m.Page = Operator, PageCLI
		}
		l.Kind, l.Body = kindAdd, encode(m)
	case 1:
		l.Kind, l.Body = kindPolicy, encode(Policy{PolicyLevels{High: "any"}})
	}
	return inputs{Roster: "main", Text: string(flip(r, w.line(l, w.keys[by]))) + "\n"}
}

// randomSealed returns a case of each sealed format.
func (w *world) randomSealed(r *rand.Rand, i int) []vector {
	name := []string{"cli", "phone", "browser", "guest"}[r.IntN(4)]
	names := map[string]string{hostID: strings.NewReplacer("\u2028", "", "\t", "").Replace(randomName(r)) + "a", w.ids["phone"]: "é"}
	e, record, err := w.roster.NewEpoch(hostID, w.keys["host"], EpochPosition{}, names, now)
	if err != nil {
		w.t.Fatal(err)
	}
	by := []string{"host", "cli", "phone"}[r.IntN(3)]
	history, err := w.roster.NewHistory(w.ids[by], w.keys[by], w.ids[name], []*Epoch{e})
	if err != nil {
		w.t.Fatal(err)
	}
	beat, err := NewBeat(w.keys["host"], w.roster.Account(), hostID, map[string]End{fmt.Sprint("run_", i): {1 + r.Int64N(maxInt), encode64(randomBytes(tagSize))}}, w.fresh.Token(now))
	if err != nil {
		w.t.Fatal(err)
	}
	common := inputs{Roster: "main", Host: hostID, To: w.ids[name], Keys: string(w.keys[name].Marshal()), Epochs: []*Epoch{e}, Now: now.UnixMilli() - 1}
	with := func(format string, change func(in *inputs)) vector {
		in := common
		change(&in)
		return vector{Format: format, In: in}
	}
	events := w.randomEvents(r, e)
	data := jsonwrite.MustEncode(map[string]any{randomName(r): randomValue(r, 3)})
	cmd, err := e.SealCommand(w.sign(w.statement(KindRPC), "phone", string(data)))
	if err != nil {
		w.t.Fatal(err)
	}
	response, err := e.SealResponse("run_1", cmd, data)
	if err != nil {
		w.t.Fatal(err)
	}
	secret := NewShareSecret()
	shared, err := NewShare(w.keys["host"], secret.ShareKey(), secret.ShareID(), []string{"run_1", fmt.Sprint("run_", i+2)}, []*Epoch{e}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	request := &SealedEvent{Type: "run.permission_requested", Run: "run_1", Data: SealedData{RequestID: "req_1"}}
	body := w.bodies(e, request, []string{w.ids[name]}, Notice{Summary: randomName(r), Title: randomName(r), TS: formatTime(now)})[w.ids[name]]
	prf, keys := Key(randomBytes(32)), w.keys[name]
	passkey := sealPasskey(w.roster.Account(), w.ids[name], "AAEC", prf, encode(passkeyContent{randomName(r), keys.Marshal(), keys.Public()}))
	return []vector{
		{Format: "passkey", In: inputs{Account: w.roster.Account(), FreshKey: encode64(prf[:]), Text: string(flip(r, []byte(passkey)))}},
		with("share", func(in *inputs) { in.Text, in.Secret = string(flip(r, shared)), &secret }),
		{Format: "guest", In: w.randomGuest(r, e, string(data))},
		with("push", func(in *inputs) {
			in.Kind, in.Run, in.ID, in.CT = request.Type, request.Run, "req_1", string(flip(r, []byte(body)))
		}),
		with("key_record", func(in *inputs) { in.Text = string(flip(r, record)) }),
		with("history", func(in *inputs) { in.Text = string(flip(r, history)) }),
		with("beat", func(in *inputs) { in.Text = string(flip(r, beat)) }),
		with("chain", func(in *inputs) { in.Events = mixEvents(r, events) }),
		with("event", func(in *inputs) {
			frame := events[r.IntN(len(events))]
			if text := flip(r, frame.Data); json.Valid(text) {
				frame.Data = text
			}
			in.Events = []vectorEvent{frame}
		}),
		with("sealed_command", func(in *inputs) {
			in.Text, in.Run, in.Kind = string(flip(r, encode(cmd))), "run_1", KindRPC
		}),
		with("response", func(in *inputs) {
			in.Text, in.Run, in.CT = string(encode(cmd)), "run_1", string(flip(r, []byte(response)))
		}),
	}
}

// randomEvents returns events of the run run_1, some of which may be replaced with gaps.
func (w *world) randomEvents(r *rand.Rand, e *Epoch) []vectorEvent {
	rec := w.newRecorder(e, "run_1")
	for range 1 + r.IntN(4) {
		rec.write("run.output", string(jsonwrite.MustEncode(map[string]any{"text": randomName(r), randomName(r): randomValue(r, 2)})))
		switch r.IntN(4) {
		case 0:
			rec.write("run.permission_requested", string(openRequest))
		case 1:
			rec.head()
		case 2:
			rec.drop(rec.chain.Seq, rec.chain.Seq)
		}
	}
	return rec.events
}

// mixEvents removes, repeats or swaps events in one half of the calls.
func mixEvents(r *rand.Rand, events []vectorEvent) []vectorEvent {
	events = slices.Clone(events)
	i := r.IntN(len(events))
	switch n := r.IntN(6); {
	case n == 0 && len(events) > 1:
		events = slices.Delete(events, i, i+1)
	case n == 1:
		events = slices.Insert(events, i, events[r.IntN(len(events))])
	case n == 2:
		j := r.IntN(len(events))
		events[i], events[j] = events[j], events[i]
	}
	return events
}
