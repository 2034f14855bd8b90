package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// addSealed adds the vectors of sealed formats, in a world with two epochs.
func (v *vectors) addSealed(w *world) {
	first, text1, pos1 := w.newEpoch(EpochPosition{}, start.Add(65*time.Minute))
	second, text2, pos2 := w.newEpoch(pos1, start.Add(90*time.Minute))
	v.addKeyRecords(w, text1, text2, pos1, pos2)
	v.addOpenedRecords(w, text2)
	v.addHistories(w, []*Epoch{first, second})
	v.addEvents(w, []*Epoch{first, second})
	v.addChains(w, []*Epoch{first, second})
	v.addMarks(w, second)
	v.addBeats(w)
	v.addSealedCommands(w, []*Epoch{first, second})
	v.addResponses(w, second)
	v.addShares(w, []*Epoch{first, second})
	v.addGuests(w, second)
	v.addPushes(w, []*Epoch{first, second})
	v.addPasskeys(w)
}

func (w *world) keyRecord(text []byte) *KeyRecord {
	var k KeyRecord
	if err := json.Unmarshal(text, &k); err != nil {
		w.t.Fatal(err)
	}
	return &k
}

// resign signs a changed record.
func (k *KeyRecord) resign(keys *Keys) string {
	k.Sig = ""
	k.Sig = keys.signText(contextEpoch, encode(k))
	return string(encode(k))
}

func (v *vectors) addKeyRecords(w *world, text1, text2 []byte, pos1, pos2 EpochPosition) {
	phone := w.ids["phone"]
	valid := func(text []byte, known EpochPosition) inputs {
		in := inputs{Roster: "main", Text: string(text), Host: hostID, To: phone, Keys: string(w.keys["phone"].Marshal())}
		if known != (EpochPosition{}) {
			in.KnownEpoch = &known
		}
		return in
	}
	v.add("key_record", "the first", "", valid(text1, EpochPosition{}))
	v.add("key_record", "the second, after the first", "", valid(text2, pos1))
	v.add("key_record", "the second, again", "", valid(text2, pos2))
	v.add("key_record", "the second, to a device that knows none", "", valid(text2, EpochPosition{}))
	v.add("key_record", "the first, after the second", OldEpoch, valid(text1, pos2))
	v.add("key_record", "the second, after another first", RosterFork, valid(text2, EpochPosition{1, pos2.Hash, pos1.Roster}))
	v.add("key_record", "another second", RosterFork, valid(text2, EpochPosition{2, pos1.Hash, pos1.Roster}))
	v.add("key_record", "the second, after an epoch 0", RosterFork, valid(text2, EpochPosition{-1, pos2.Hash, 1}))

	// edited is not signed again; signed is.
	edited := func(name string, code Code, from, to string) {
		v.add("key_record", name, code, valid(bytes.Replace(text2, []byte(from), []byte(to), 1), pos1))
	}
	edited("an unknown member", BadMessage, `"v":1`, `"v":1,"x":1`)
	edited("a space", BadMessage, `"v":1`, `"v": 1`)
	edited("version 2", Unsupported, `"v":1`, `"v":2`)
	edited("another epoch", BadSignature, `"epoch":2`, `"epoch":3`)
	edited("another time", BadSignature, `"at":"2026`, `"at":"2027`)
	edited("no signature", BadSignature, `"sig":"`+w.keyRecord(text2).Sig+`",`, ``)
	signed := func(name string, code Code, by string, change func(k *KeyRecord, in *inputs)) {
		k, in := w.keyRecord(text2), valid(nil, pos1)
		change(k, &in)
		in.Text = k.resign(w.keys[by])
		v.add("key_record", name, code, in)
	}
	field := func(name string, code Code, change func(k *KeyRecord)) {
		signed(name, code, "host", func(k *KeyRecord, _ *inputs) { change(k) })
	}
	field("signed again", "", func(*KeyRecord) {})
	signed("signed by a device", BadSignature, "phone", func(*KeyRecord, *inputs) {})
	field("another account", WrongRequest, func(k *KeyRecord) { k.Account = "a_other" })
	field("another host", WrongRequest, func(k *KeyRecord) { k.Host = "host_b" })
	field("epoch 0", BadMessage, func(k *KeyRecord) { k.Epoch = 0 })
	field("epoch 2^53", BadMessage, func(k *KeyRecord) { k.Epoch = maxInt + 1 })
	field("epoch 1 with prev", BadMessage, func(k *KeyRecord) { k.Epoch = 1 })
	field("no prev", RosterFork, func(k *KeyRecord) { k.Prev = "" })
	field("no prev, of a later epoch", RosterFork, func(k *KeyRecord) { k.Epoch, k.Prev = 4, "" })
	field("prev in upper case", BadMessage, func(k *KeyRecord) { k.Prev = strings.ToUpper(k.Prev) })
	field("a time with a zone", BadMessage, func(k *KeyRecord) { k.At = "2026-03-01T14:30:00.000+01:00" })
	_, text4, pos4 := w.newEpoch(EpochPosition{3, pos1.Hash, pos1.Roster}, start.Add(2*time.Hour))
	v.add("key_record", "after epochs of a rejected roster", "", valid(text4, pos1))
	v.add("key_record", "the second, after the fourth", OldEpoch, valid(text2, pos4))
	v.add("key_record", "the fourth, after the second", RosterFork, valid(text4, pos2))
	field("a missing record", RosterFork, func(k *KeyRecord) { k.Epoch, k.Prev = 4, pos2.Hash })
	signed("the first that the roster permits", "", "host", func(k *KeyRecord, in *inputs) { k.Prev, in.KnownEpoch = "", nil })
	field("prev of another record", RosterFork, func(k *KeyRecord) { k.Prev = pos2.Hash })
	field("another line of the roster", RosterFork, func(k *KeyRecord) { k.Roster.N = 8 })
	field("a line that the roster lacks", RosterFork, func(k *KeyRecord) { k.Roster.N = 10 })
	field("line 0 of the roster", RosterFork, func(k *KeyRecord) { k.Roster.N = 0 })
	field("an earlier line of the roster", RosterFork, func(k *KeyRecord) { k.Roster = Position{8, w.roster.hashes[7]} })
	field("a line with another device", UnknownDevice, func(k *KeyRecord) { k.Roster = Position{7, w.roster.hashes[6]} })
	field("a line before the host", UnknownDevice, func(k *KeyRecord) { k.Roster = Position{2, w.roster.hashes[1]} })
	signed("an unknown host", UnknownDevice, "host", func(k *KeyRecord, in *inputs) { k.Host, in.Host = "host_b", "host_b" })
	signed("a device as host", UnknownDevice, "phone", func(k *KeyRecord, in *inputs) { k.Host, in.Host = phone, phone })
	field("a missing wrap", UnknownDevice, func(k *KeyRecord) { k.Wraps = k.Wraps[1:] })
	field("no wrap for the recovery key", UnknownDevice, func(k *KeyRecord) { k.Wraps = k.Wraps[:len(k.Wraps)-1] })
	field("no wraps", UnknownDevice, func(k *KeyRecord) { k.Wraps = []KeyWrap{} })
	field("a wrap twice", UnknownDevice, func(k *KeyRecord) { k.Wraps = append(k.Wraps, k.Wraps[0]) })
	field("another order", UnknownDevice, func(k *KeyRecord) { k.Wraps[0], k.Wraps[1] = k.Wraps[1], k.Wraps[0] })
	field("a wrap for a removed device", UnknownDevice, func(k *KeyRecord) {
		k.Wraps = slices.Insert(k.Wraps, 4, KeyWrap{w.ids["tablet"], wrap(w.keys["tablet"].Public().Seal, k.aad(w.ids["tablet"]), make([]byte, 64))})
	})
	field("a wrap for a host", UnknownDevice, func(k *KeyRecord) { k.Wraps[3].To = hostID })
	field("enc of 64 bytes", BadMessage, func(k *KeyRecord) { k.Wraps[0].Enc = encode64(make([]byte, 64)) })
	field("ct of 79 bytes", BadMessage, func(k *KeyRecord) { k.Wraps[0].CT = encode64(make([]byte, 79)) })
	field("a command key for the recovery key", BadMessage, func(k *KeyRecord) { k.Wraps[4].CT = k.Wraps[0].CT })
	field("short names", BadMessage, func(k *KeyRecord) { k.Names = encode64(make([]byte, 283)) })
}

// addOpenedRecords adds records that are valid and opened by a member.
func (v *vectors) addOpenedRecords(w *world, text []byte) {
	phone := w.ids["phone"]
	open := func(name string, code Code, to string, keys *Keys, change func(k *KeyRecord)) {
		k := w.keyRecord(text)
		change(k)
		v.add("key_record", name, code, inputs{Roster: "main", Text: k.resign(w.keys["host"]), Host: hostID, To: to, Keys: string(keys.Marshal())})
	}
	same := func(*KeyRecord) {}
	open("opened by a viewer", "", w.ids["guest"], w.keys["guest"], same)
	open("opened with the recovery keys", "", ByRecovery, w.recovery, same)
	open("opened by a removed device", UnknownDevice, w.ids["tablet"], w.keys["tablet"], same)
	open("opened by a host", UnknownDevice, hostID, w.keys["host"], same)
	open("opened with another device's keys", BadSignature, phone, w.keys["cli"], same)
	open("another device's wrap", BadSignature, phone, w.keys["phone"], func(k *KeyRecord) { k.Wraps[1].wrapped = k.Wraps[0].wrapped })
	open("a wrap for another epoch", BadSignature, phone, w.keys["phone"], func(k *KeyRecord) { k.Epoch++ })
	open("a wrap for another line of the roster", BadSignature, phone, w.keys["phone"], func(k *KeyRecord) { k.Roster = Position{8, w.roster.hashes[7]} })
	open("enc is no point", BadSignature, phone, w.keys["phone"], func(k *KeyRecord) { k.Wraps[1].Enc = encode64(bytes.Repeat([]byte{4}, 65)) })
	names := func(name string, code Code, context, text string) {
		open("names "+name, code, phone, w.keys["phone"], func(k *KeyRecord) {
			e, err := k.Open(phone, w.keys["phone"])
			if err != nil {
				w.t.Fatal(err)
			}
			k.Names = must(sealText(e.Secret.derive(context).aead(), place("names", k.Account, k.Host, k.Epoch), []byte(text)))
		})
	}
	names("of no members", "", contextNames, `{}`)
	names("under another key", BadSignature, contextRun, `{}`)
	names("in an array", BadMessage, contextNames, `[]`)
	names("that are null", BadMessage, contextNames, `null`)
	names("with a number", BadMessage, contextNames, `{"a":1}`)
	names("of no id", BadMessage, contextNames, `{"a/b":"x"}`)
	names("that are empty", BadMessage, contextNames, `{"a":""}`)
	names("with a control character", BadMessage, contextNames, "{\"a\":\"x\u202ey\"}")
	names("in another order", BadMessage, contextNames, `{"b":"x","a":"y"}`)
}

func (v *vectors) addHistories(w *world, epochs []*Epoch) {
	guest, cli := w.ids["guest"], w.ids["cli"]
	text, err := w.roster.NewHistory(hostID, w.keys["host"], guest, epochs)
	if err != nil {
		w.t.Fatal(err)
	}
	valid := inputs{Roster: "main", Text: string(text), Host: hostID, To: guest, Keys: string(w.keys["guest"].Marshal())}
	v.add("history", "by the host", "", valid)
	signed := func(name string, code Code, by string, change func(h *history, in *inputs)) {
		var h history
		if err := json.Unmarshal(text, &h); err != nil {
			w.t.Fatal(err)
		}
		in := valid
		change(&h, &in)
		h.Sig = ""
		h.Sig = w.keys[by].signText(contextHistory, encode(h))
		in.Text = string(encode(h))
		v.add("history", name, code, in)
	}
	signed("by an owner's device", "", "cli", func(h *history, _ *inputs) { h.By = cli })
	signed("by a viewer", Forbidden, "guest", func(h *history, _ *inputs) { h.By = guest })
	signed("by an operator", Forbidden, "browser", func(h *history, _ *inputs) { h.By = w.ids["browser"] })
	signed("by a removed device", UnknownDevice, "tablet", func(h *history, _ *inputs) { h.By = w.ids["tablet"] })
	signed("by another host", Forbidden, "host", func(h *history, in *inputs) { h.Host, in.Host = "host_b", "host_b" })
	signed("signed by another owner", BadSignature, "phone", func(h *history, _ *inputs) { h.By = cli })
	signed("version 2", Unsupported, "host", func(h *history, _ *inputs) { h.V = 2 })
	signed("for another account", WrongRequest, "host", func(h *history, _ *inputs) { h.Account = "a_other" })
	signed("of another host", WrongRequest, "host", func(h *history, _ *inputs) { h.Host = "host_b" })
	signed("for another device", WrongRequest, "host", func(h *history, _ *inputs) { h.To = cli })
	signed("with keys of another device", BadSignature, "host", func(_ *history, in *inputs) { in.Keys = string(w.keys["cli"].Marshal()) })
	signed("moved to another device", BadSignature, "host", func(h *history, in *inputs) {
		h.To, in.To, in.Keys = cli, cli, string(w.keys["cli"].Marshal())
	})
	signed("of other epochs", BadSignature, "host", func(h *history, _ *inputs) { h.Epochs = []int64{1, 3} })
	signed("of one epoch too many", BadMessage, "host", func(h *history, _ *inputs) { h.Epochs = []int64{1, 2, 3} })
	signed("of no epochs", BadMessage, "host", func(h *history, _ *inputs) { h.Epochs, h.CT = []int64{}, encode64(make([]byte, 16)) })
	signed("in another order", BadMessage, "host", func(h *history, _ *inputs) { h.Epochs = []int64{2, 1} })
	signed("of an epoch twice", BadMessage, "host", func(h *history, _ *inputs) { h.Epochs = []int64{2, 2} })
	signed("of epoch 0", BadMessage, "host", func(h *history, _ *inputs) { h.Epochs = []int64{0, 2} })
	signed("with a short enc", BadMessage, "host", func(h *history, _ *inputs) { h.Enc = h.Enc[:86] })
	in := valid
	in.Text = strings.Replace(in.Text, `"v":1`, `"more":1,"v":1`, 1)
	v.add("history", "with an unknown member", BadMessage, in)
}

func (v *vectors) addEvents(w *world, epochs []*Epoch) {
	r := w.newRecorder(epochs[1], "run_1")
	r.write("run.started", `{"tool":"claude","cwd":"/src","command":"claude"}`)
	r.write("run.output", `{"stream":"stdout","text":"`+strings.Repeat("é😀\\u0000", 200)+`"}`)
	r.write("run.input", `{"actor":"web","input_id":"in_1","text_redacted":"go on"}`)
	r.write("run.emit", `{"channel":"log","payload":{"a":[1,2.5,null]},"awaited":false}`)
	r.write("run.permission_requested", string(openRequest))
	valid := func(e vectorEvent) inputs { return inputs{Roster: "main", Epochs: epochs, Events: []vectorEvent{e}} }
	for _, e := range r.events {
		v.add("event", fmt.Sprintf("%s %d", e.Type, e.Seq), "", valid(e))
	}
	request, output, input := r.events[4], r.events[1], r.events[2]
	with := func(name string, code Code, e vectorEvent, change func(e *vectorEvent)) {
		change(&e)
		v.add("event", name, code, valid(e))
	}
	data := func(name string, code Code, e vectorEvent, from, to string) {
		with(name, code, e, func(e *vectorEvent) { e.Data = bytes.Replace(e.Data, []byte(from), []byte(to), 1) })
	}
	with("with a push", "", request, func(e *vectorEvent) { e.Data = append([]byte(`{"push":{"d_1":"AAAA"},`), e.Data[1:]...) })
	with("another order and spaces", "", output, func(e *vectorEvent) { e.Enc = json.RawMessage(` { "v": 1, "epoch": 2 } `) })
	with("version 2", Unsupported, output, func(e *vectorEvent) { e.Enc = json.RawMessage(`{"epoch":2,"v":2}`) })
	with("no enc", BadMessage, output, func(e *vectorEvent) { e.Enc = json.RawMessage(`{}`) })
	with("an unknown member of enc", BadMessage, output, func(e *vectorEvent) { e.Enc = json.RawMessage(`{"epoch":2,"suite":1,"v":1}`) })
	with("epoch 0", BadMessage, output, func(e *vectorEvent) { e.Enc = json.RawMessage(`{"epoch":0,"v":1}`) })
	with("another epoch", BadSignature, output, func(e *vectorEvent) { e.Enc = json.RawMessage(`{"epoch":1,"v":1}`) })
	with("an unknown epoch", OldEpoch, output, func(e *vectorEvent) { e.Enc = json.RawMessage(`{"epoch":3,"v":1}`) })
	with("another seq", BadSignature, output, func(e *vectorEvent) { e.Seq++ })
	with("seq 0", BadMessage, output, func(e *vectorEvent) { e.Seq = 0 })
	with("another run", BadSignature, output, func(e *vectorEvent) { e.Run = "run_2" })
	with("a run that is no id", BadMessage, output, func(e *vectorEvent) { e.Run = "run/1" })
	with("another visible type", BadSignature, output, func(e *vectorEvent) { e.Type = "run.exited" })
	with("a hidden type instead of a visible one", BadSignature, output, func(e *vectorEvent) { e.Type = TypeSealed })
	with("a type in upper case", BadMessage, output, func(e *vectorEvent) { e.Type = "RUN.OUTPUT" })
	with("another time", BadSignature, output, func(e *vectorEvent) { e.TS = formatTime(start) })
	data("another request_id", BadSignature, request, `"req_1"`, `"req_2"`)
	data("no request_id", BadSignature, request, `,"request_id":"req_1"`, ``)
	data("a request_id that is no id", BadMessage, request, `"req_1"`, `"req/1"`)
	data("a request_id of an output", BadSignature, output, `{"ct"`, `{"request_id":"req_1","ct"`)
	data("another input_id", BadSignature, input, `"in_1"`, `"in_2"`)
	data("input_id as request_id", BadSignature, input, `"input_id"`, `"request_id"`)
	data("an unknown member", BadMessage, output, `{"ct"`, `{"x":1,"ct"`)
	data("no ct", BadMessage, output, `"ct"`, `"xt"`)
	data("a character that is no base64url", BadMessage, output, `"ct":"`, `"ct":"/`)
	v.addChangedEvents(w, epochs, output)
	v.addPlaintexts(w, epochs)
	v.addGapEvents(w, epochs)
}

// addChangedEvents adds changes of the ct and prev of an event, and of the place of its keys.
func (v *vectors) addChangedEvents(w *world, epochs []*Epoch, output vectorEvent) {
	change := func(name string, code Code, f func(d *SealedData, e []*Epoch)) {
		out, keys := output, []*Epoch{}
		for _, e := range epochs {
			c := *e
			keys = append(keys, &c)
		}
		var d SealedData
		if err := json.Unmarshal(output.Data, &d); err != nil {
			w.t.Fatal(err)
		}
		f(&d, keys)
		out.Data = encode(d)
		v.add("event", name, code, inputs{Roster: "main", Epochs: keys, Events: []vectorEvent{out}})
	}
	flipAt := func(ct string, i int) string {
		b := decodeSealed(ct)
		b[(i+len(b))%len(b)] ^= 1
		return encode64(b)
	}
	change("another nonce", BadSignature, func(d *SealedData, _ []*Epoch) { d.CT = flipAt(d.CT, 0) })
	change("another ciphertext", BadSignature, func(d *SealedData, _ []*Epoch) { d.CT = flipAt(d.CT, 20) })
	change("another tag", BadSignature, func(d *SealedData, _ []*Epoch) { d.CT = flipAt(d.CT, -1) })
	change("a cut ct", BadSignature, func(d *SealedData, _ []*Epoch) { d.CT = d.CT[4:] })
	change("a short ct", BadMessage, func(d *SealedData, _ []*Epoch) { d.CT = encode64(make([]byte, 283)) })
	change("another prev", BadSignature, func(d *SealedData, _ []*Epoch) { d.Prev = encode64(make([]byte, 16)) })
	change("no tag as prev", BadSignature, func(d *SealedData, _ []*Epoch) { d.Prev = "" })
	change("prev of 15 bytes", BadMessage, func(d *SealedData, _ []*Epoch) { d.Prev = encode64(make([]byte, 15)) })
	change("prev in another form", BadMessage, func(d *SealedData, _ []*Epoch) { d.Prev = "AAAAAAAAAAAAAAAAAAAAAB" })
	change("another account", BadSignature, func(_ *SealedData, e []*Epoch) { e[1].Account = "a_other" })
	change("another host", BadSignature, func(_ *SealedData, e []*Epoch) { e[1].Host = "host_b" })
	change("another secret", BadSignature, func(_ *SealedData, e []*Epoch) { e[1].Secret[0] ^= 1 })
}

// addPlaintexts adds events that somebody with the run's key has sealed with another plaintext.
func (v *vectors) addPlaintexts(w *world, epochs []*Epoch) {
	k := epochs[1].RunKey("run_1")
	raw := func(name string, code Code, typ string, padded []byte) {
		s := &SealedEvent{Type: typ, TS: formatTime(now), Run: "run_1", Seq: 1, Enc: Enc{1, 2}}
		s.Data.CT = encode64(k.aead.Seal(nil, nil, padded, k.place(s)))
		v.add("event", name, code, inputs{Roster: "main", Epochs: epochs, Events: []vectorEvent{eventFrame(s)}})
	}
	pad := func(text string, size int) []byte {
		b := make([]byte, size)
		b[copy(b, text)] = endOfText
		return b
	}
	plain := func(name string, code Code, typ, text string) { raw(name, code, typ, pad(text, paddedSize(len(text)))) }
	ok := `{"data":{},"ts":"2026-03-01T14:00:00.000Z","type":"run.started"}`
	plain("sealed by a reader", "", "run.started", ok)
	plain("a visible type in a hidden one", BadSignature, TypeSealed, ok)
	plain("a hidden type in a visible one", BadSignature, "run.started", strings.Replace(ok, "started", "emit", 1))
	plain("no data", BadMessage, "run.started", strings.Replace(ok, `"data":{},`, ``, 1))
	plain("an array as data", BadMessage, "run.started", strings.Replace(ok, `{}`, `[]`, 1))
	plain("a space", BadMessage, "run.started", strings.Replace(ok, `:{}`, `: {}`, 1))
	plain("an unknown member", BadMessage, "run.started", strings.Replace(ok, `,"ts"`, `,"seq":1,"ts"`, 1))
	plain("a time without milliseconds", BadMessage, "run.started", strings.Replace(ok, ".000", "", 1))
	plain("no JSON", BadMessage, "run.started", "x")
	plain("an empty text", BadMessage, "run.started", "")
	plain("a request without an id", BadMessage, "run.permission_requested", strings.Replace(ok, "started", "permission_requested", 1))
	plain("a request with a number as id", BadMessage, "run.permission_requested", strings.Replace(strings.Replace(ok, "started", "permission_requested", 1), `{}`, `{"request_id":1}`, 1))
	raw("padding without an end", BadMessage, "run.started", append([]byte(ok), make([]byte, 256-len(ok))...))
	raw("zeros", BadMessage, "run.started", make([]byte, 256))
	raw("too long a padding", BadMessage, "run.started", pad(ok, 272))
	raw("a padding that is no size of Padmé", BadMessage, "run.started", pad(strings.Replace(ok, `{}`, `{"a":"`+strings.Repeat("a", 200)+`"}`, 1), 281))
}

// addGapEvents adds a gap, and changes of the sequence number with which it begins.
func (v *vectors) addGapEvents(w *world, epochs []*Epoch) {
	r := w.newRecorder(epochs[1], "run_1")
	for range 3 {
		r.write("run.output", `{}`)
	}
	r.drop(2, 3)
	with := func(name string, code Code, e vectorEvent, from, to string) {
		e.Data = bytes.Replace(e.Data, []byte(from), []byte(to), 1)
		v.add("event", name, code, inputs{Roster: "main", Epochs: epochs, Events: []vectorEvent{e}})
	}
	output, gap := r.events[0], r.events[1]
	with("a gap", "", gap, "", "")
	with("an earlier from", BadSignature, gap, `"from":2`, `"from":1`)
	with("a later from", BadSignature, gap, `"from":2`, `"from":3`)
	with("from after seq", BadMessage, gap, `"from":2`, `"from":4`)
	with("from 0", BadMessage, gap, `"from":2`, `"from":0`)
	with("a negative from", BadMessage, gap, `"from":2`, `"from":-2`)
	with("from in a text", BadMessage, gap, `"from":2`, `"from":"2"`)
	with("a gap without from", BadMessage, gap, `"from":2,`, ``)
	with("from of an output", BadMessage, output, `"prev"`, `"from":1,"prev"`)
}

func (v *vectors) addChains(w *world, epochs []*Epoch) {
	r := w.newRecorder(epochs[0], "run_1")
	r.write("run.started", `{}`)
	r.write("run.output", `{"text":"a"}`)
	r.write("run.output", `{"text":"b"}`)
	r.key = epochs[1].RunKey("run_1")
	r.write("run.output", `{"text":"c"}`)
	r.write("run.permission_requested", string(openRequest))
	r.write("run.output", `{"text":"d"}`)
	r.write("run.exited", `{"exit_code":0}`)
	all := r.events
	in := func(c Chain, events ...vectorEvent) inputs {
		in := inputs{Roster: "main", Host: hostID, Epochs: epochs, Events: slices.Clone(events)}
		if c != (Chain{}) {
			in.Chain = &c
		}
		return in
	}
	v.add("chain", "of two epochs", "", in(Chain{}, all...))
	v.add("chain", "from the middle", "", in(r.before[2], all[2:]...))
	v.add("chain", "without the beginning", "", in(Chain{Seq: 2, Tag: r.before[2].Tag, Partial: true}, all[2:]...))
	v.add("chain", "the first event is missing", Reordered, in(Chain{}, all[1:]...))
	v.add("chain", "an event is missing", Reordered, in(r.before[2], all[3:]...))
	v.add("chain", "a head is missing", Reordered, in(r.before[5], all[6:]...))
	v.add("chain", "two events in another order", Reordered, in(r.before[1], all[2], all[1]))
	v.add("chain", "an event twice", Replayed, in(Chain{}, all[0], all[1], all[1]))
	v.add("chain", "an earlier event", Replayed, in(r.before[4], all[1]))
	v.add("chain", "a head twice", Replayed, in(r.before[5], all[5], all[5]))
	other := w.newRecorder(epochs[1], "run_1")
	other.chain = r.before[3]
	other.write("run.output", `{"text":"forged"}`)
	v.add("chain", "an event after another one", Reordered, in(r.before[3], other.events[0], all[4]))
	other.write("run.permission_requested", string(openRequest))
	other.events[2] = all[5] // the host's head
	v.add("chain", "a head for another event", Reordered, in(r.before[3], other.events...))
	c := other.before[2]
	c.Tag = r.before[5].Tag
	v.add("chain", "a head for the hash of other events", BadSignature, in(c, all[5]))
	c = r.before[5]
	c.Head = c.SHA256
	v.add("chain", "a head after another head", BadSignature, in(c, all[5]))

	r.drop(2, 3)
	v.add("chain", "with a gap", "", in(Chain{}, r.events...))
	v.add("chain", "a gap for an event that arrived", "", in(Chain{}, append(slices.Clone(all[:2]), r.events[1:]...)...))
	v.add("chain", "a missing event before a gap", Reordered, in(Chain{}, r.events[1:]...))
	v.add("chain", "a gap after the events that it replaces", Replayed, in(Chain{}, append(slices.Clone(all[:3]), r.events[1:]...)...))
	v.add("chain", "a missing event after a gap", Reordered, in(Chain{}, append(slices.Clone(r.events[:2]), r.events[3:]...)...))
	only := w.newRecorder(epochs[1], "run_2")
	only.write("run.output", `{"text":"a"}`)
	only.drop(1, 1)
	only.head()
	v.add("chain", "a head after a gap", "", in(Chain{}, only.events...))
	r.drop(4, 4)
	v.add("chain", "with two gaps", "", in(Chain{}, r.events...))
	v.add("chain", "a missing gap", Reordered, in(Chain{}, append(slices.Clone(r.events[:1]), r.events[2:]...)...))
}

// addMarks adds heads and gaps that the host has not signed, or in another form.
func (v *vectors) addMarks(w *world, e *Epoch) {
	r := w.newRecorder(e, "run_1")
	r.write("run.output", `{"text":"a"}`)
	r.write("run.output", `{"text":"b"}`)
	head := mark{To: 2, SHA256: r.chain.SHA256, Fresh: w.fresh.Token(now)}
	gap := mark{From: 2, To: 2, Reason: "spool_full", Tag: r.chain.Tag, SHA256: r.chain.SHA256}
	signed := func(typ, name string, code Code, by string, m mark, change func(m *mark)) {
		change(&m)
		m.Sig = w.keys[by].signText(contextPrefix+typ, r.key.signed(encode(m)))
		seq, at := int64(3), r.chain
		if typ == TypeGap {
			seq, at = 2, r.before[1]
		}
		s := &SealedEvent{Type: VisibleType(typ), TS: formatTime(now), Run: "run_1", Seq: seq, Enc: Enc{1, e.N}, Data: SealedData{Prev: at.Tag}}
		if typ == TypeGap {
			s.Data.From = m.From
		}
		s.Data.CT = must(sealText(r.key.aead, r.key.place(s), (&Event{typ, s.TS, encode(m)}).encode()))
		v.add("chain", name, code, inputs{Roster: "main", Host: hostID, Epochs: []*Epoch{e}, Chain: &at, Events: []vectorEvent{eventFrame(s)}})
	}
	same := func(*mark) {}
	signed(TypeHead, "a head", "", "host", head, same)
	signed(TypeGap, "a gap", "", "host", gap, same)
	signed(TypeHead, "a head by a device", BadSignature, "phone", head, same)
	signed(TypeGap, "a gap by a device", BadSignature, "phone", gap, same)
	invalid := func(typ string, m mark, changes map[string]func(m *mark)) {
		for _, name := range slices.Sorted(maps.Keys(changes)) {
			signed(typ, typ+" with "+name, BadMessage, "host", m, changes[name])
		}
	}
	invalid(TypeHead, head, map[string]func(m *mark){
		"to": func(m *mark) { m.To = 1 }, "a short sha256": func(m *mark) { m.SHA256 = m.SHA256[1:] }, "a wrong prev_head": func(m *mark) { m.PrevHead = "x" },
		"from": func(m *mark) { m.From = 1 }, "a reason": func(m *mark) { m.Reason = "spool_full" }, "a tag": func(m *mark) { m.Tag = gap.Tag },
		"no fresh": func(m *mark) { m.Fresh = "" }, "a fresh of 25 bytes": func(m *mark) { m.Fresh = encode64(make([]byte, 25)) },
	})
	invalid(TypeGap, gap, map[string]func(m *mark){
		"to": func(m *mark) { m.To = 3 }, "no from": func(m *mark) { m.From = 0 }, "from after to": func(m *mark) { m.From = 3 }, "no reason": func(m *mark) { m.Reason = "" },
		"a reason in upper case": func(m *mark) { m.Reason = "FULL" }, "no tag": func(m *mark) { m.Tag = "" }, "fresh": func(m *mark) { m.Fresh = head.Fresh },
	})
	signed(TypeHead, "a head of another hash", BadSignature, "host", head, func(m *mark) { m.SHA256 = strings.Repeat("0", 64) })
	other := e.RunKey("run_2")
	head.Sig = w.keys["host"].signText(contextPrefix+TypeHead, other.signed(encode(head)))
	s, err := r.key.sealAt(Event{TypeHead, formatTime(now), encode(head)}, 3, r.chain.Tag)
	if err != nil {
		w.t.Fatal(err)
	}
	v.add("chain", "the head of another run", BadSignature, inputs{Roster: "main", Host: hostID, Epochs: []*Epoch{e}, Chain: &r.chain, Events: []vectorEvent{eventFrame(s)}})
}

func (v *vectors) addBeats(w *world) {
	tag := encode64(make([]byte, tagSize))
	ends := func() map[string]End { return map[string]End{"run_1": {7, tag}, "run_2": {1, tag}} }
	with := func(name string, code Code, by string, change func(b *Beat, in *inputs)) {
		b := &Beat{V: 1, Account: w.roster.Account(), Host: hostID, Ends: ends(), Fresh: w.fresh.Token(now)}
		in := inputs{Roster: "main", Host: hostID, Run: "run_1", Now: now.Add(-20 * time.Second).UnixMilli()}
		change(b, &in)
		b.Sig = w.keys[by].signText(contextBeat, encode(b))
		in.Text = string(encode(b))
		if code == BadSignature && by == "host" {
			in.Text = strings.Replace(in.Text, `"seq":7`, `"seq":6`, 1)
		}
		v.add("beat", name, code, in)
	}
	same := func(*Beat, *inputs) {}
	with("valid", "", "host", same)
	with("without runs", "", "host", func(b *Beat, _ *inputs) { b.Ends = map[string]End{} })
	with("to a device that has all events", "", "host", func(_ *Beat, in *inputs) { in.Chain = &Chain{Seq: 7, Tag: tag} })
	with("to a device that has more events", "", "host", func(_ *Beat, in *inputs) { in.Chain = &Chain{Seq: 8} })
	with("to a device that lacks an event", Reordered, "host", func(_ *Beat, in *inputs) { in.Chain = &Chain{Seq: 6, Tag: tag} })
	with("to a device with another event", Reordered, "host", func(_ *Beat, in *inputs) { in.Chain = &Chain{Seq: 7, Tag: "x"} })
	with("with another end", BadSignature, "host", same)
	with("by a device", BadSignature, "phone", same)
	with("version 2", Unsupported, "host", func(b *Beat, _ *inputs) { b.V = 2 })
	with("of another account", WrongRequest, "host", func(b *Beat, _ *inputs) { b.Account = "a_other" })
	with("of another host", WrongRequest, "host", func(b *Beat, _ *inputs) { b.Host = "host_b" })
	with("again", Replayed, "host", func(_ *Beat, in *inputs) { in.Now = now.UnixMilli() })
	with("with a short token", BadMessage, "host", func(b *Beat, _ *inputs) { b.Fresh = b.Fresh[1:] })
	with("with seq 0", BadMessage, "host", func(b *Beat, _ *inputs) { b.Ends["run_1"] = End{0, tag} })
	with("with a short tag", BadMessage, "host", func(b *Beat, _ *inputs) { b.Ends["run_1"] = End{7, tag[1:]} })
	with("with a run that is no id", BadMessage, "host", func(b *Beat, _ *inputs) { b.Ends["run/1"] = End{7, tag} })
}

func (v *vectors) addSealedCommands(w *world, epochs []*Epoch) {
	cmd := w.sign(w.statement(KindDecide), "phone", `{"text":"fine"}`)
	sealed, err := epochs[1].SealCommand(cmd)
	if err != nil {
		w.t.Fatal(err)
	}
	with := func(name string, code Code, change func(c *SealedCommand, in *inputs)) {
		c := *sealed
		in := inputs{Roster: "main", Epochs: epochs, Run: "run_1", Kind: KindDecide, Now: now.UnixMilli()}
		change(&c, &in)
		if in.Text == "" {
			in.Text = string(encode(c))
		}
		v.add("sealed_command", name, code, in)
	}
	with("a decision", "", func(*SealedCommand, *inputs) {})
	with("in another order", "", func(c *SealedCommand, in *inputs) {
		in.Text = fmt.Sprintf(`{"epoch": 2, "id": %q, "device": %q, "ct": %q}`, c.ID, c.Device, c.CT)
	})
	old, err := epochs[0].SealCommand(cmd)
	if err != nil {
		w.t.Fatal(err)
	}
	at := start.Add(90*time.Minute + 24*time.Hour)
	with("of an epoch that ended less than 24 h ago", "", func(c *SealedCommand, in *inputs) { *c, in.Now = *old, at.UnixMilli()-1 })
	with("of an epoch that ended 24 h ago", OldEpoch, func(c *SealedCommand, in *inputs) { *c, in.Now = *old, at.UnixMilli() })
	with("of an unknown epoch", OldEpoch, func(c *SealedCommand, _ *inputs) { c.Epoch = 3 })
	with("of another epoch", BadSignature, func(c *SealedCommand, _ *inputs) { c.Epoch = 1 })
	with("of epoch 0", BadMessage, func(c *SealedCommand, _ *inputs) { c.Epoch = 0 })
	with("of another run", BadSignature, func(_ *SealedCommand, in *inputs) { in.Run = "run_2" })
	with("of another kind", BadSignature, func(_ *SealedCommand, in *inputs) { in.Kind = KindInput })
	with("with another id", BadSignature, func(c *SealedCommand, _ *inputs) { c.ID = "req_2" })
	with("with an id that is no id", BadMessage, func(c *SealedCommand, _ *inputs) { c.ID = "req/1" })
	with("of another device", BadSignature, func(c *SealedCommand, _ *inputs) { c.Device = w.ids["cli"] })
	with("of an unknown device", UnknownDevice, func(c *SealedCommand, _ *inputs) { c.Device = w.ids["tablet"] })
	with("with another ct", BadSignature, func(c *SealedCommand, _ *inputs) { c.CT = old.CT })
	with("with a short ct", BadMessage, func(c *SealedCommand, _ *inputs) { c.CT = c.CT[:99] })
	with("with an unknown member", BadMessage, func(c *SealedCommand, in *inputs) { in.Text = `{"x":1,` + string(encode(c))[1:] })
	with("without ct", BadMessage, func(_ *SealedCommand, in *inputs) { in.Text = `{"device":"d_a","epoch":1,"id":"req_1"}` })
	raw := func(name string, code Code, text []byte) {
		with(name, code, func(c *SealedCommand, _ *inputs) {
			c.CT = must(sealText(epochs[1].Commands[c.Device].aead(), epochs[1].place("command", "run_1", KindDecide, c), text))
		})
	}
	raw("with another device's statement", WrongRequest, encode(w.sign(w.statement(KindDecide), "cli", `{}`)))
	raw("with an unknown member of the plaintext", BadMessage, []byte(`{"a":1}`))
	raw("with a space in the plaintext", BadMessage, append(encode(cmd), ' '))
	raw("with an array", BadMessage, []byte(`[]`))
}

func (v *vectors) addResponses(w *world, e *Epoch) {
	sealed, err := e.SealCommand(w.sign(w.statement(KindRPC), "phone", `{"rpc_type":"rpc.fs.read"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	other, err := e.SealCommand(w.sign(w.statement(KindRPC), "phone", `{"rpc_type":"rpc.fs.read"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	ct, err := e.SealResponse("run_1", sealed, json.RawMessage(`{"ok":true, "result":{"text":"a"}}`))
	if err != nil {
		w.t.Fatal(err)
	}
	with := func(name string, code Code, c *SealedCommand, run, ct string) {
		v.add("response", name, code, inputs{Roster: "main", Epochs: []*Epoch{e}, Text: string(encode(c)), Run: run, CT: ct, Now: now.UnixMilli()})
	}
	with("valid", "", sealed, "run_1", ct)
	with("to another command", BadSignature, other, "run_1", ct)
	with("of another run", BadSignature, sealed, "run_2", ct)
	with("a command as response", BadSignature, sealed, "run_1", sealed.CT)
	with("a cut ct", BadMessage, sealed, "run_1", ct[:len(ct)-4])
	with("a short ct", BadMessage, sealed, "run_1", ct[:99])
	key, err := e.responseKey(sealed)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, text := range []string{`[]`, `null`, `{"a": 1}`, `1`, ``} {
		with(fmt.Sprintf("the text %q", text), BadMessage, sealed, "run_1", must(sealText(key.aead(), e.place("response", "run_1", KindRPC, sealed), []byte(text))))
	}
}

func (v *vectors) addShares(w *world, epochs []*Epoch) {
	secret, other := NewShareSecret(), NewShareSecret()
	id := secret.ShareID()
	text, err := NewShare(w.keys["host"], secret.ShareKey(), id, []string{"run_1", "run_2"}, epochs, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	add := func(name string, code Code, text string, secret Key) {
		v.add("share", name, code, inputs{Roster: "main", Text: text, Secret: &secret})
	}
	add("valid", "", string(text), secret)
	add("with another secret", WrongRequest, string(text), other)
	edited := func(name string, code Code, from, to string) {
		add(name, code, strings.Replace(string(text), from, to, 1), secret)
	}
	edited("of another account", BadSignature, `"account":"`, `"account":"b`)
	edited("of another host", BadSignature, `"host":"`, `"host":"b`)
	edited("with another id", WrongRequest, `"share":"s_`, `"share":"s_b`)
	edited("of version 2", Unsupported, `"v":1`, `"v":2`)
	edited("with an unknown member", BadMessage, `"v":1`, `"v":1,"x":1`)
	edited("with a space", BadMessage, `"v":1`, `"v": 1`)
	edited("with a longer ct", BadSignature, `"ct":"`, `"ct":"A`)
	edited("with an invalid ct", BadMessage, `"ct":"`, `"ct":"!`)
	plain := func(name string, code Code, change func(s *Shared)) {
		s := Shared{w.keys["host"].Public().Sign, map[string]map[string]Key{"run_1": {"1": secret}}, nil}
		change(&s)
		form := share{V: 1, Account: w.roster.Account(), Host: hostID, ID: id}
		form.CT = must(sealText(secret.ShareKey().aead(), form.place(), encode(s)))
		add(name, code, string(encode(form)), secret)
	}
	plain("sealed again", "", func(*Shared) {})
	plain("without runs", BadMessage, func(s *Shared) { clear(s.Keys) })
	plain("with too many runs", BadMessage, func(s *Shared) {
		for i := range maxShared {
			s.Keys[fmt.Sprint("run_a", i)] = s.Keys["run_1"]
		}
	})
	plain("with a run without keys", BadMessage, func(s *Shared) { s.Keys["run_2"] = map[string]Key{} })
	plain("with an invalid run", BadMessage, func(s *Shared) { s.Keys["a b"] = s.Keys["run_1"] })
	plain("with epoch 0", BadMessage, func(s *Shared) { s.Keys["run_1"]["0"] = secret })
	plain("with epoch 01", BadMessage, func(s *Shared) { s.Keys["run_1"]["01"] = secret })
	plain("with epoch 2^53", BadMessage, func(s *Shared) { s.Keys["run_1"]["9007199254740992"] = secret })
	at := w.roster.Head()
	plain("for an approver", "", func(s *Shared) { s.Roster = &at })
	plain("for an approver, with line 0", BadMessage, func(s *Shared) { s.Roster = &Position{0, at.Hash} })
	plain("for an approver, with an invalid hash", BadMessage, func(s *Shared) { s.Roster = &Position{at.N, at.Hash[1:]} })
	plain("with an invalid sign_key", BadMessage, func(s *Shared) { s.SignKey = s.SignKey[1:] })
}
