package seal

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// resign returns a text with a member sig by keys, or nil if it is no object.
func resign(keys *Keys, context string, text []byte) []byte {
	var o map[string]json.RawMessage
	if json.Unmarshal(text, &o) != nil || o == nil {
		return nil
	}
	delete(o, "sig")
	form, err := canonical(must(json.Marshal(o)))
	if err != nil {
		return nil
	}
	o["sig"] = encode(keys.signText(context, form))
	return encode(o)
}

// A patch is a text to replace and its replacement, with a line feed between them. The keys of the
// world differ in each process of a fuzzer, so that a corpus cannot have its texts.
func addPatches(f *testing.F, from ...string) {
	for _, text := range from {
		f.Add([]byte(text + "\n" + text))
		f.Add([]byte(text + "\n"))
		f.Add([]byte(text + "\n" + text + text))
	}
}

// patch returns text with a patch, or the patch itself if it is none.
func patch(patch, text []byte) []byte {
	from, to, ok := bytes.Cut(patch, []byte("\n"))
	if !ok || len(from) == 0 || !bytes.Contains(text, from) {
		return patch
	}
	return bytes.Replace(text, from, to, 1)
}

func FuzzKeyRecord(f *testing.F) {
	w := newWorld(f)
	_, own, _ := w.newEpoch(EpochPosition{}, now)
	addVectors(f, "key_record", func(in *inputs) []byte { return []byte(in.Text) })
	addPatches(f, `"epoch":1`, `"wraps":[`, `"names":"`, `"to":"recovery"`, `"prev":""`, `"v":1`)
	f.Fuzz(func(t *testing.T, text []byte) {
		text = patch(text, own)
		if _, err := w.roster.VerifyKeyRecord(text, hostID, EpochPosition{}); checkRefusal(t, err) && !bytes.Equal(text, own) {
			t.Error("accepted without a signature")
		}
		text = resign(w.keys["host"], contextEpoch, text)
		rec, err := w.roster.VerifyKeyRecord(text, hostID, EpochPosition{})
		if !checkRefusal(t, err) {
			return
		}
		if _, err := w.roster.VerifyKeyRecord(text, hostID, rec.Position()); err != nil {
			t.Errorf("the record is not verified again: %v", err)
		}
		e, err := rec.Open(w.ids["phone"], w.keys["phone"])
		if checkRefusal(t, err) {
			_, err = rec.OpenNames(e)
			checkRefusal(t, err)
		}
	})
}

func FuzzSignedTexts(f *testing.F) {
	w := newWorld(f)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	own, err := w.roster.NewHistory(hostID, w.keys["host"], w.ids["guest"], []*Epoch{e})
	if err != nil {
		f.Fatal(err)
	}
	beat, err := NewBeat(w.keys["host"], w.roster.Account(), hostID, map[string]End{"run_1": {7, encode64(make([]byte, 16))}}, w.fresh.Token(now))
	if err != nil {
		f.Fatal(err)
	}
	addPatches(f, `"epochs":[1]`, `"ends":{`, `"seq":7`, `"ct":"`, `"fresh":"`, `"v":1`)
	addVectors(f, "history", func(in *inputs) []byte { return []byte(in.Text) })
	addVectors(f, "beat", func(in *inputs) []byte { return []byte(in.Text) })
	f.Fuzz(func(t *testing.T, in []byte) {
		text := patch(in, own)
		if _, err := w.roster.OpenHistory(text, hostID, w.ids["guest"], w.keys["guest"]); checkRefusal(t, err) && !bytes.Equal(text, own) {
			t.Error("accepted without a signature")
		}
		_, err := w.roster.OpenHistory(resign(w.keys["host"], contextHistory, text), hostID, w.ids["guest"], w.keys["guest"])
		checkRefusal(t, err)
		text = patch(in, beat)
		if _, err := ReadBeat(text, w.roster.Account(), hostID, w.keys["host"].Public(), time.Time{}); checkRefusal(t, err) && !bytes.Equal(text, beat) {
			t.Error("accepted without a signature")
		}
		b, err := ReadBeat(resign(w.keys["host"], contextBeat, text), w.roster.Account(), hostID, w.keys["host"].Public(), time.Time{})
		if checkRefusal(t, err) {
			for run := range b.Ends {
				checkRefusal(t, b.Check(run, Chain{Seq: 3}))
			}
		}
	})
}

func FuzzSealedEvent(f *testing.F) {
	w := newWorld(f)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	k := e.RunKey("run_1")
	host := w.keys["host"].Public()
	for _, c := range readVectors(f).Cases {
		if c.Format == "event" {
			ev := c.In.Events[0]
			plain, _ := json.Marshal(c.Out["data"])
			f.Add(ev.Type, ev.TS, []byte(ev.Enc), []byte(ev.Data), plain)
		}
	}
	for _, typ := range []string{TypeHead, TypeGap, "run.started", "run.input"} {
		data := `{"fresh":"AAAA","from":1,"input_id":"in_1","prev_head":"","reason":"spool_full","sha256":"","tag":"","to":1}`
		f.Add(VisibleType(typ), "2026-03-01T14:00:00.000Z", []byte(`{"epoch":1,"v":1}`), []byte(`{"ct":"","prev":""}`), []byte(`{"data":`+data+`,"ts":"2026-03-01T14:00:00.000Z","type":"`+typ+`"}`))
	}
	f.Fuzz(func(t *testing.T, typ, ts string, enc, data, plain []byte) {
		s := &SealedEvent{Type: typ, TS: ts, Run: "run_1", Seq: 2}
		if checkRefusal(t, s.Parse(enc, data)) {
			if _, err := k.Open(s); checkRefusal(t, err) {
				t.Error("opened without the key")
			}
		}
		// A reader with the run's key may seal any text, but not sign it.
		s = &SealedEvent{Type: typ, TS: ts, Run: "run_1", Seq: 2, Enc: Enc{1, 1}, Data: s.Data}
		ct, err := sealText(k.aead, k.place(s), plain)
		if !checkRefusal(t, err) {
			return
		}
		s.Data.CT = ct
		opened, err := k.Open(s)
		if !checkRefusal(t, err) {
			return
		}
		_, span, err := k.Follow(Chain{}, s, opened, host)
		if checkRefusal(t, err) || span != (Span{}) {
			t.Error("an event 2 without event 1 follows")
		}
		if opened.Type != TypeHead && opened.Type != TypeGap {
			return
		}
		var m mark
		if json.Unmarshal(opened.Data, &m) == nil {
			m.Sig = ""
			m.Sig = w.keys["host"].signText(contextPrefix+opened.Type, k.signed(encode(m)))
			opened.Data = encode(m)
			_, _, err = k.Follow(Chain{}, s, opened, host)
			checkRefusal(t, err)
		}
	})
}

func FuzzSealedCommand(f *testing.F) {
	w := newWorld(f)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	for _, c := range readVectors(f).Cases {
		if c.Format == "sealed_command" {
			f.Add([]byte(c.In.Text), []byte(`{"content":{},"sig":"","statement":{}}`))
		}
	}
	f.Fuzz(func(t *testing.T, data, plain []byte) {
		s, err := ParseSealedCommand(data)
		if !checkRefusal(t, err) {
			return
		}
		if _, err := e.OpenCommand("run_1", KindStop, s); checkRefusal(t, err) {
			t.Error("opened without the key")
		}
		s.Device, s.Epoch = w.ids["phone"], 1
		if s.CT, err = sealText(e.Commands[s.Device].aead(), e.place("command", "run_1", KindStop, s), plain); !checkRefusal(t, err) {
			return
		}
		c, err := e.OpenCommand("run_1", KindStop, s)
		if checkRefusal(t, err) {
			_, err = w.checker().Check(c, Envelope{Kind: KindStop, Run: "run_1", ID: s.ID}, DeviceState{}, now)
			checkRefusal(t, err)
		}
		key, err := e.responseKey(s)
		if err != nil {
			t.Fatal(err)
		}
		ct, err := sealText(key.aead(), e.place("response", "run_1", KindRPC, s), plain)
		if checkRefusal(t, err) {
			_, err = e.OpenResponse("run_1", s, ct)
			checkRefusal(t, err)
		}
	})
}

func FuzzShare(f *testing.F) {
	w := newWorld(f)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	secret := NewShareSecret()
	own, err := NewShare(w.keys["host"], secret.ShareKey(), secret.ShareID(), []string{"run_1"}, []*Epoch{e}, nil)
	if err != nil {
		f.Fatal(err)
	}
	addPatches(f, `"ct":"`, `"share":"s_`, `"v":1`, `"account":"`)
	addVectors(f, "share", func(in *inputs) []byte { return []byte(in.Text) })
	f.Add([]byte(`{"keys":{"run_1":{"1":"` + encode64(secret[:]) + `"}},"sign_key":"` + w.keys["host"].Public().Sign + `"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		text := patch(in, own)
		if _, _, _, err := OpenShare(text, secret); checkRefusal(t, err) && !bytes.Equal(text, own) {
			t.Error("accepted without the key")
		}
		form := share{V: 1, Account: w.roster.Account(), Host: hostID, ID: secret.ShareID()}
		if form.CT, err = sealText(secret.ShareKey().aead(), form.place(), in); !checkRefusal(t, err) {
			return
		}
		account, host, shared, err := OpenShare(encode(form), secret)
		if !checkRefusal(t, err) {
			return
		}
		for run := range shared.Keys {
			if shared.RunKey(account, host, run, 0) != nil {
				t.Error("there is a key of epoch 0")
			}
		}
	})
}

func FuzzPush(f *testing.F) {
	w := newWorld(f)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	phone := w.ids["phone"]
	request := &SealedEvent{Type: "run.permission_requested", Run: "run_1", Data: SealedData{RequestID: "req_1"}}
	own := w.bodies(e, request, []string{phone}, Notice{Summary: "s", Title: "t", TS: formatTime(now)})[phone]
	addVectors(f, "push", func(in *inputs) []byte { return []byte(in.CT) })
	f.Add([]byte(`{"summary":"","title":"a","ts":"2026-03-01T14:00:00.000Z"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := e.OpenPush(request, phone, string(patch(in, []byte(own)))); checkRefusal(t, err) && !bytes.Equal(patch(in, []byte(own)), []byte(own)) {
			t.Error("accepted without the key")
		}
		if len(in) >= pushSize {
			return
		}
		key := e.Commands[phone]
		body := encode64(key.derive(contextPush).aead().Seal(nil, nil, pad(in, pushSize), e.pushPlace(phone, request)))
		_, err := e.OpenPush(request, phone, body)
		checkRefusal(t, err)
	})
}

func FuzzPasskey(f *testing.F) {
	w := newWorld(f)
	account, phone, prf, keys := w.roster.Account(), w.ids["phone"], Key(randomBytes(32)), w.keys["phone"]
	content := passkeyContent{"phone", keys.Marshal(), keys.Public()}
	own := []byte(sealPasskey(account, phone, "AAEC", prf, encode(content)))
	addPatches(f, `"ct":"`, `"device":"d_`, `"credential":"`, `"v":1`, `"private":{`, `"name":"`, `"seal_key":"`)
	addVectors(f, "passkey", func(in *inputs) []byte { return []byte(in.Text) })
	f.Fuzz(func(t *testing.T, in []byte) {
		if k, _, err := openPasskey(string(patch(in, own)), account, prf); checkRefusal(t, err) && k.Public() != keys.Public() {
			t.Error("opened other keys")
		}
		k, name, err := openPasskey(sealPasskey(account, phone, "AAEC", prf, patch(in, encode(content))), account, prf)
		if checkRefusal(t, err) && (k.Public() != keys.Public() || checkText("name", name) != nil) {
			t.Errorf("opened other keys, or the name %q", name)
		}
	})
}

func FuzzGuest(f *testing.F) {
	w := newWorld(f)
	e, _, _ := w.newEpoch(EpochPosition{}, now)
	secret := NewShareSecret()
	in := w.guestInputs(secret, e, w.statement(KindDecide), `{}`)
	grant, key := []byte(in.Grant), secret.GuestKey()
	c := w.sign(w.statement(KindDecide), "link", `{}`)
	c.Guest = &Guest{Sign: w.keys["link"].Public().Sign}
	own := encode(c)
	addPatches(f, `"runs":["`, `"expires":"2026`, `"by":"d_`, `"page":"server"`, `"n":`, `"sig":"`, `"sign_key":"`, `"mac":"`)
	addVectors(f, "guest", func(in *inputs) []byte { return []byte(in.Grant) })
	f.Fuzz(func(t *testing.T, in []byte) {
		text := patch(in, grant)
		if form, err := canonical(text); err == nil && !bytes.Equal(form, grant) {
			if _, err := w.roster.VerifyGrant(text); checkRefusal(t, err) {
				t.Error("a grant is accepted without the key")
			}
		}
		plain := patch(in, own)
		s := &SealedCommand{ID: "req_1", Device: secret.ShareID(), Epoch: e.N}
		var err error
		if s.CT, err = sealText(key.guestCommand(e.N).aead(), e.place("command", "run_1", KindDecide, s), plain); !checkRefusal(t, err) {
			return
		}
		if _, err := e.OpenGuestCommand(key, "run_1", KindDecide, s); checkRefusal(t, err) {
			t.Error("a guest without a mac is accepted")
		}
	})
}
