package seal

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// bodies returns the bodies of an event by device.
func (w *world) bodies(e *Epoch, of *SealedEvent, devices []string, n Notice) map[string]string {
	w.t.Helper()
	text, err := e.SealPush(of, devices, n)
	if err != nil {
		w.t.Fatal(err)
	}
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (v *vectors) addPushes(w *world, epochs []*Epoch) {
	phone, browser := w.ids["phone"], w.ids["browser"]
	e := epochs[1]
	request := &SealedEvent{Type: "run.permission_requested", Run: "run_1", Data: SealedData{RequestID: "req_1"}}
	n := Notice{Summary: "it requests a permission: bash", Title: "the “release”", TS: formatTime(now)}
	all := w.bodies(e, request, []string{phone, browser}, n)
	with := func(name string, code Code, change func(in *inputs)) {
		in := inputs{Roster: "main", Epochs: []*Epoch{e}, Kind: request.Type, Run: "run_1", ID: "req_1", To: phone, CT: all[phone]}
		change(&in)
		v.add("push", name, code, in)
	}
	with("of a request", "", func(*inputs) {})
	with("of a request, for another device", "", func(in *inputs) { in.To, in.CT = browser, all[browser] })
	long := Notice{Summary: strings.Repeat("😀\u0001", 200), Title: strings.Repeat("\u0001é", 60), TS: n.TS}
	with("with long texts", "", func(in *inputs) { in.CT = w.bodies(e, request, []string{phone}, long)[phone] })
	end := &SealedEvent{Type: "run.exited", Run: "run_1"}
	with("of an end", "", func(in *inputs) {
		in.Kind, in.ID, in.CT = end.Type, "", w.bodies(e, end, []string{phone}, n)[phone]
	})
	with("of another device", BadSignature, func(in *inputs) { in.CT = all[browser] })
	with("of an unknown device", UnknownDevice, func(in *inputs) { in.To = w.ids["tablet"] })
	with("of another run", BadSignature, func(in *inputs) { in.Run = "run_2" })
	with("of another request", BadSignature, func(in *inputs) { in.ID = "req_2" })
	with("of an outcome", BadSignature, func(in *inputs) { in.Kind = "run.permission_resolved" })
	with("of another epoch", BadSignature, func(in *inputs) { in.Epochs = epochs[:1] })
	with("of another host", BadSignature, func(in *inputs) { c := *e; c.Host = "host_b"; in.Epochs = []*Epoch{&c} })
	with("of another account", BadSignature, func(in *inputs) { c := *e; c.Account = "a_other"; in.Epochs = []*Epoch{&c} })
	with("cut", BadSignature, func(in *inputs) { in.CT = in.CT[:len(in.CT)-4] })
	with("short", BadMessage, func(in *inputs) { in.CT = in.CT[:99] })
	raw := func(name string, code Code, text string, size int) {
		with(name, code, func(in *inputs) {
			key := e.Commands[phone].derive(contextPush)
			in.CT = encode64(key.aead().Seal(nil, nil, pad([]byte(text), size), e.pushPlace(phone, request)))
		})
	}
	ok := string(encode(n))
	raw("of the host", "", ok, pushSize)
	raw("with a padding of 256 bytes", BadMessage, ok, 256)
	raw("with a padding of 528 bytes", BadMessage, ok, 528)
	raw("with an unknown member", BadMessage, strings.Replace(ok, `{`, `{"a":1,`, 1), pushSize)
	raw("without a title", BadMessage, `{"summary":"a","ts":"2026-03-01T14:00:00.000Z"}`, pushSize)
	raw("without milliseconds", BadMessage, `{"summary":"a","title":"b","ts":"2026-03-01T14:00:00Z"}`, pushSize)
	raw("with null", BadMessage, `null`, pushSize)
	with("under the command key", BadSignature, func(in *inputs) {
		in.CT = encode64(e.Commands[phone].aead().Seal(nil, nil, pad([]byte(ok), pushSize), e.pushPlace(phone, request)))
	})
}

// TestPushTexts checks that all bodies have one size, also with texts that are too long, and that
// these are shortened at whole characters, the summary first.
func TestPushTexts(t *testing.T) {
	w := newWorld(t)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	of, phone := &SealedEvent{Type: "run.exited", Run: "run_1"}, w.ids["phone"]
	for _, n := range []Notice{{}, {Title: "a", Summary: "b"}, {Title: "a", Summary: strings.Repeat("é", 511)}, {Title: strings.Repeat("\u0001", 300), Summary: "b"}, {Title: strings.Repeat("😀", 99), Summary: strings.Repeat("\"", 300)}} {
		n.TS = formatTime(now)
		body := w.bodies(e, of, []string{phone}, n)[phone]
		got, err := e.OpenPush(of, phone, body)
		if len(body) != 720 || err != nil {
			t.Fatalf("%+v: %d characters, %v", n, len(body), err)
		}
		title, summary := strings.TrimSuffix(got.Title, "…"), strings.TrimSuffix(got.Summary, "…")
		if !strings.HasPrefix(n.Title, title) || !strings.HasPrefix(n.Summary, summary) || got.Title != n.Title && got.Summary != "" {
			t.Errorf("%+v was shortened to %+v", n, got)
		}
	}
	if _, err := e.SealPush(of, []string{"d_x"}, Notice{TS: formatTime(now)}); !hasCode(err, UnknownDevice) {
		t.Errorf("a body for an unknown device: %v", err)
	}
	if text, err := e.SealPush(of, nil, Notice{}); text != nil || err != nil {
		t.Errorf("bodies for no device: %s, %v", text, err)
	}
}

func hasCode(err error, code Code) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Code == code
}
