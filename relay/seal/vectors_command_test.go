package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

func (v *vectors) addCommands(w *world) {
	in := func(c Command, kind string) inputs {
		i := inputs{Roster: "main", Command: &c, Host: hostID, FreshKey: encode64(w.fresh[:]), Kind: kind, Run: "run_1", ID: "req_1", Now: now.UnixMilli()}
		if kind == KindDecide {
			i.Request = (*vectorRequest)(request())
		}
		return i
	}
	data := map[string]string{KindDecide: `{"text":"fine"}`, KindInput: `{"text":"go on <&>"}`, KindKeys: `{"keys":"\u0003"}`, KindStop: `{"signal":"term"}`,
		KindResize: `{"cols":80,"rows":24}`, KindRPC: `{"args":{"path":"a"},"tool":"rpc.fs.read"}`}
	for _, kind := range kinds {
		v.add("command", kind, "", in(w.sign(w.statement(kind), "phone", data[kind]), kind))
	}
	// with signs a changed statement.
	with := func(name string, code Code, kind, by string, change func(s *Statement, i *inputs)) {
		s, i := w.statement(kind), in(Command{}, kind)
		change(&s, &i)
		c := w.sign(s, by, data[kind])
		i.Command = &c
		v.add("command", name, code, i)
	}
	// after changes a valid command and its surroundings, without a new signature.
	after := func(name string, code Code, kind string, change func(c *Command, i *inputs)) {
		c := w.sign(w.statement(kind), "phone", data[kind])
		i := in(c, kind)
		change(&c, &i)
		i.Command = &c
		v.add("command", name, code, i)
	}
	edit := func(from, to string) func(c *Command, i *inputs) {
		return func(c *Command, _ *inputs) {
			c.Statement = bytes.Replace(c.Statement, []byte(from), []byte(to), 1)
		}
	}
	with("low risk from the relay's page", "", KindDecide, "browser", func(*Statement, *inputs) {})
	with("rpc without a run", "", KindRPC, "cli", func(s *Statement, i *inputs) { s.Run, i.Run = "", "" })
	with("an older line of the roster", "", KindStop, "phone", func(s *Statement, i *inputs) { s.Roster = Position{5, w.roster.hashes[4]} })
	with("an unused counter in the window", "", KindStop, "phone", func(s *Statement, i *inputs) { i.State = stateOf(1064, 42) })
	with("a large counter", "", KindStop, "phone", func(s *Statement, i *inputs) { s.Counter, i.State = maxInt, stateOf(41, 40) })
	with("input after another", "", KindInput, "phone", func(s *Statement, i *inputs) { s.After, i.State = 38, stateOf(38) })
	with("a request without arguments", "", KindDecide, "phone", func(s *Statement, i *inputs) { s.ArgsSHA256, i.Request.ArgsSHA256 = "", "" })
	after("another order and spaces", "", KindStop, func(c *Command, _ *inputs) {
		c.Statement = json.RawMessage(" {\n\"v\": 1.0," + strings.Replace(string(c.Statement[1:]), `,"v":1}`, "}", 1))
		c.Content = bytes.Replace(c.Content, []byte(`{"data"`), []byte(`{ "data"`), 1)
	})

	after("no statement", BadMessage, KindStop, func(c *Command, _ *inputs) { c.Statement = json.RawMessage(`null`) })
	after("an unknown member", BadMessage, KindStop, edit(`"v":1`, `"v":1,"x":1`))
	after("version 2", Unsupported, KindStop, edit(`"v":1`, `"v":2`))
	after("no version", Unsupported, KindStop, edit(`,"v":1`, `,"v":0`))
	after("an unknown kind", BadMessage, KindStop, edit(`"stop"`, `"halt"`))
	after("a counter of 0", BadMessage, KindStop, edit(`"counter":41,`, ``))
	after("a counter of 2^53", BadMessage, KindStop, edit(`"counter":41,`, `"counter":9007199254740992,`))
	after("a fraction as counter", BadMessage, KindStop, edit(`"counter":41,`, `"counter":41.5,`))
	after("after in a stop", BadMessage, KindStop, edit(`{"account"`, `{"after":3,"account"`))
	after("after after the counter", BadMessage, KindInput, edit(`{"account"`, `{"after":41,"account"`))
	after("a decision in a stop", BadMessage, KindStop, edit(`{"account"`, `{"decision":"approve","account"`))
	after("no decision", BadMessage, KindDecide, edit(`"decision":"approve",`, ``))
	after("no scope", BadMessage, KindDecide, edit(`"scope":"once",`, ``))
	after("no run", BadMessage, KindStop, edit(`"run":"run_1",`, ``))
	after("a token of 23 bytes", BadMessage, KindStop, func(c *Command, _ *inputs) { edit(w.statement(KindStop).Fresh, encode64(make([]byte, 23)))(c, nil) })
	after("a statement of more than 4,096 bytes", BadMessage, KindStop, edit(`"v":1`, `"v":1,"x":"`+strings.Repeat("x", 4096)+`"`))
	after("at with a zone", BadMessage, KindStop, edit(`.000Z"`, `.000+00:00"`))
	after("a roster position of 2^53", BadMessage, KindStop, edit(`"n":9`, `"n":9007199254740992`))
	after("a hash in upper case", BadMessage, KindStop, edit(w.roster.Head().Hash, strings.ToUpper(w.roster.Head().Hash)))
	after("a short content_sha256", BadMessage, KindStop, edit(`"content_sha256":"`, `"content_sha256":"","x":"`))
	after("content_sha256 of 63 digits", BadMessage, KindStop, func(c *Command, _ *inputs) {
		s, _, _ := c.read()
		edit(s.ContentSHA256, s.ContentSHA256[1:])(c, nil)
	})
	after("a device that is no id", BadMessage, KindStop, edit(w.ids["phone"], "d/1"))
	after("a negative counter", BadMessage, KindStop, edit(`"counter":41`, `"counter":-41`))
	after("a roster position of 0", BadMessage, KindStop, edit(`"n":9`, `"n":0`))
	after("local and device", BadMessage, KindDecide, edit(`{"account"`, `{"local":{"pid":1,"uid":1},"account"`))

	with("a removed device", UnknownDevice, KindStop, "tablet", func(*Statement, *inputs) {})
	with("a host's keys", UnknownDevice, KindStop, "host", func(*Statement, *inputs) {})
	after("another device's id", BadSignature, KindStop, edit(w.ids["phone"], w.ids["cli"]))
	after("an unknown device's id", UnknownDevice, KindStop, edit(w.ids["phone"], "d_other"))
	after("a host's id", UnknownDevice, KindStop, edit(w.ids["phone"], hostID))
	with("a viewer", Forbidden, KindStop, "guest", func(*Statement, *inputs) {})
	with("a viewer decides", Forbidden, KindDecide, "guest", func(*Statement, *inputs) {})
	with("medium risk from the relay's page", "", KindDecide, "browser", func(_ *Statement, i *inputs) { i.Request.Risk = "medium" })
	with("high risk from the relay's page", PageNotTrusted, KindDecide, "browser", func(_ *Statement, i *inputs) { i.Request.Risk = "high" })
	with("unknown risk from the relay's page", PageNotTrusted, KindDecide, "browser", func(_ *Statement, i *inputs) { i.Request.Risk = "" })
	with("a line before the device was added", UnknownDevice, KindStop, "phone", func(s *Statement, _ *inputs) { s.Roster = Position{3, w.roster.hashes[2]} })
	with("a host that is no member", Forbidden, KindStop, "phone", func(s *Statement, i *inputs) { s.Host, i.Host = "host_b", "host_b" })
	with("another line of the roster", RosterFork, KindStop, "phone", func(s *Statement, _ *inputs) { s.Roster.Hash = w.roster.hashes[0] })
	with("a line that the host lacks", RosterFork, KindStop, "phone", func(s *Statement, _ *inputs) { s.Roster.N++ })

	after("a changed decision", BadSignature, KindDecide, edit(`"approve"`, `"deny"`))
	after("a changed scope", BadSignature, KindDecide, edit(`"once"`, `"session"`))
	after("a changed counter", BadSignature, KindStop, edit(`"counter":41`, `"counter":42`))
	after("a signature with a line feed", BadSignature, KindStop, func(c *Command, _ *inputs) { c.Sig += "\n" })
	after("an empty signature", BadSignature, KindStop, func(c *Command, _ *inputs) { c.Sig = "" })
	after("a zero signature", BadSignature, KindStop, func(c *Command, _ *inputs) { c.Sig = encode64(make([]byte, 64)) })
	after("an ASN.1 signature", BadSignature, KindStop, func(c *Command, _ *inputs) {
		c.Sig = base64.RawURLEncoding.EncodeToString(append([]byte{0x30, 0x44, 2, 0x20}, decode64(c.Sig, 64)...))
	})
	after("another answer", BadSignature, KindDecide, func(c *Command, _ *inputs) { c.Content = bytes.Replace(c.Content, []byte("fine"), []byte("evil"), 1) })
	after("another salt", BadSignature, KindStop, func(c *Command, _ *inputs) {
		c.Content = w.sign(w.statement(KindStop), "phone", data[KindStop]).Content
	})
	after("no content", BadSignature, KindStop, func(c *Command, _ *inputs) { c.Content = json.RawMessage(`null`) })
	after("a content with a number out of range", BadMessage, KindStop, func(c *Command, _ *inputs) { c.Content = json.RawMessage(`{"data":1e999}`) })
	after("signed as a roster line", BadSignature, KindStop, func(c *Command, _ *inputs) { c.Sig = w.keys["phone"].signText(contextRoster, c.Statement) })
	after("signed as a local decision", BadSignature, KindStop, func(c *Command, _ *inputs) { c.Sig = w.keys["phone"].signText(contextLocal, c.Statement) })
	after("content is no object", BadMessage, KindStop, func(c *Command, _ *inputs) {
		c.Content = json.RawMessage(`{"data":[1],"salt":"AAAAAAAAAAAAAAAAAAAAAA"}`)
		s, _, _ := c.read()
		s.ContentSHA256, _ = HashRequest(c.Content)
		c.Statement = encode(s)
		c.Sig = w.keys["phone"].signText(contextCommand, c.Statement)
	})
	for _, c := range [][2]string{{"without salt", `{"data":{}}`}, {"without data", `{"salt":"AAAAAAAAAAAAAAAAAAAAAA"}`}, {"with a short salt", `{"data":{},"salt":"AA"}`},
		{"with an array as data", `{"data":[],"salt":"AAAAAAAAAAAAAAAAAAAAAA"}`}, {"with an unknown member", `{"data":{},"more":1,"salt":"AAAAAAAAAAAAAAAAAAAAAA"}`}} {
		name, text := c[0], c[1]
		after("a signed content "+name, BadMessage, KindRPC, func(c *Command, _ *inputs) {
			c.Content = json.RawMessage(text)
			s, _, _ := c.read()
			s.ContentSHA256, _ = HashRequest(c.Content)
			c.Statement = encode(s)
			c.Sig = w.keys["phone"].signText(contextCommand, c.Statement)
		})
	}
	local, err := w.statement(KindDecide).SignLocalFor(w)
	if err != nil {
		w.t.Fatal(err)
	}
	v.add("command", "a local decision", UnknownDevice, in(local, KindDecide))

	with("another account", WrongRequest, KindStop, "phone", func(s *Statement, _ *inputs) { s.Account = "a_other" })
	with("another host", WrongRequest, KindStop, "phone", func(s *Statement, _ *inputs) { s.Host = "host_b" })
	with("another run", WrongRequest, KindStop, "phone", func(s *Statement, i *inputs) { i.Run = "run_2" })
	with("another request", WrongRequest, KindDecide, "phone", func(s *Statement, i *inputs) { i.ID = "req_2" })
	with("another kind", WrongRequest, KindInput, "phone", func(s *Statement, i *inputs) { i.Kind = KindKeys })

	with("replayed at once", Replayed, KindStop, "phone", func(_ *Statement, i *inputs) { i.State = stateOf(41) })
	with("replayed later", Replayed, KindStop, "phone", func(_ *Statement, i *inputs) { i.State = stateOf(41, 42, 43) })
	with("older than the window", Replayed, KindStop, "phone", func(_ *Statement, i *inputs) { i.State = stateOf(1065) })
	with("an input is missing", Reordered, KindInput, "phone", func(s *Statement, i *inputs) { s.After, i.State = 39, stateOf(38) })
	with("no input was applied", Reordered, KindKeys, "phone", func(s *Statement, _ *inputs) { s.After = 39 })
	with("a later input was applied", Reordered, KindInput, "phone", func(s *Statement, i *inputs) { s.After, i.State = 38, stateOf(38, 40) })
	with("not the first input", Reordered, KindInput, "phone", func(s *Statement, i *inputs) { i.State = stateOf(38) })

	old := func(name string, code Code, kind string, age time.Duration) {
		with(name, code, kind, "phone", func(s *Statement, _ *inputs) { s.Fresh = w.fresh.Token(now.Add(-age)) })
	}
	old("a decision after 24 h", "", KindDecide, 24*time.Hour)
	old("a decision after more than 24 h", Stale, KindDecide, 24*time.Hour+time.Millisecond)
	old("an rpc after more than 15 minutes", Stale, KindRPC, 15*time.Minute+time.Millisecond)
	old("keys after more than 60 s", Stale, KindKeys, time.Minute+time.Millisecond)
	old("a size after more than 60 s", Stale, KindResize, time.Minute+time.Millisecond)
	old("input after more than 15 minutes", Stale, KindInput, 15*time.Minute+time.Millisecond)
	old("a token of the future", Stale, KindStop, -6*time.Second)
	data[KindStop] = `{"ttl_s":60}`
	old("a stop within its ttl_s", "", KindStop, time.Minute)
	old("a stop after its ttl_s", Stale, KindStop, time.Minute+time.Millisecond)
	data[KindStop] = `{"ttl_s":0}`
	old("ttl_s of 0", BadMessage, KindStop, 0)
	data[KindStop] = `{"ttl_s":86401}`
	old("ttl_s of more than a day", BadMessage, KindStop, 0)
	data[KindStop] = `{"ttl_s":"60"}`
	old("ttl_s is a text", BadMessage, KindStop, 0)
	data[KindStop] = `{}`
	with("a token of another key", Stale, KindStop, "phone", func(s *Statement, i *inputs) { s.Fresh = FreshKey{1}.Token(now) })

	with("no open request", UnknownRequest, KindDecide, "phone", func(_ *Statement, i *inputs) { i.Request = nil })
	with("another request's content", ArgsChanged, KindDecide, "phone", func(_ *Statement, i *inputs) { i.Request.SHA256 = i.Request.ArgsSHA256 })
	with("other arguments", ArgsChanged, KindDecide, "phone", func(_ *Statement, i *inputs) { i.Request.ArgsSHA256 = i.Request.SHA256 })
	with("no arguments any more", ArgsChanged, KindDecide, "phone", func(_ *Statement, i *inputs) { i.Request.ArgsSHA256 = "" })
}

// SignLocalFor returns the statement as a local decision of the world's host.
func (s Statement) SignLocalFor(w *world) (Command, error) {
	s.Counter, s.After, s.Fresh = 0, 0, ""
	return s.SignLocal(w.keys["host"], Process{UID: 1000, PID: 4242}, json.RawMessage(`{}`), now)
}

// stateOf returns the state of a device after inputs with the given counters.
func stateOf(counters ...int64) json.RawMessage {
	d := DeviceState{Inputs: map[string]int64{}}
	for _, c := range counters {
		d.use(c)
		d.Inputs["run_1"] = c
	}
	return encode(d)
}

func (v *vectors) addLedger(w *world) {
	valid := func(by string) inputs {
		s := w.statement(KindDecide)
		s.Roster = Position{7, w.roster.hashes[6]}
		c := w.sign(s, by, `{}`)
		return inputs{Roster: "main", Signed: &c.Signed, ArgsSHA256: request().ArgsSHA256, Now: now.UnixMilli()}
	}
	with := func(name string, code Code, by string, change func(i *inputs)) {
		i := valid(by)
		change(&i)
		v.add("ledger", name, code, i)
	}
	with("a decision", "", "phone", func(*inputs) {})
	with("before the device was removed", "", "tablet", func(i *inputs) { i.Now = start.Add(time.Hour).UnixMilli() })
	with("after the device was removed", UnknownDevice, "tablet", func(*inputs) {})
	with("before the device was added", UnknownDevice, "browser", func(i *inputs) {
		s := w.statement(KindDecide)
		s.Roster = Position{3, w.roster.hashes[2]}
		c := w.sign(s, "browser", `{}`)
		i.Signed = &c.Signed
	})
	with("a viewer", Forbidden, "guest", func(*inputs) {})
	with("other arguments", ArgsChanged, "phone", func(i *inputs) { i.ArgsSHA256 = request().SHA256 })
	with("a changed decision", BadSignature, "phone", func(i *inputs) {
		i.Signed.Statement = bytes.Replace(i.Signed.Statement, []byte("approve"), []byte("deny"), 1)
	})
	with("another roster", RosterFork, "phone", func(i *inputs) {
		s := w.statement(KindDecide)
		s.Roster = Position{5, w.roster.hashes[0]}
		c := w.sign(s, "phone", `{}`)
		i.Signed = &c.Signed
	})
	with("a shorter roster", RosterFork, "phone", func(i *inputs) {
		s := w.statement(KindDecide)
		s.Roster = Position{10, w.roster.hashes[0]}
		c := w.sign(s, "phone", `{}`)
		i.Signed = &c.Signed
	})
	with("no decision", WrongRequest, "phone", func(i *inputs) {
		c := w.sign(w.statement(KindStop), "phone", `{}`)
		i.Signed = &c.Signed
	})
	with("another account", WrongRequest, "phone", func(i *inputs) {
		s := w.statement(KindDecide)
		s.Account = "a_other"
		c := w.sign(s, "phone", `{}`)
		i.Signed = &c.Signed
	})
	with("no statement", BadMessage, "phone", func(i *inputs) { i.Signed = &Signed{Statement: json.RawMessage(`{}`)} })
	local, err := w.statement(KindDecide).SignLocalFor(w)
	if err != nil {
		w.t.Fatal(err)
	}
	with("local", "", "phone", func(i *inputs) { i.Signed = &local.Signed })
	with("local, with another uid", BadSignature, "phone", func(i *inputs) {
		i.Signed = &Signed{Statement: bytes.Replace(local.Statement, []byte("1000"), []byte("1001"), 1), Sig: local.Sig}
	})
	with("local, with the uid -1", BadMessage, "phone", func(i *inputs) {
		i.Signed = &Signed{Statement: bytes.Replace(local.Statement, []byte("1000"), []byte("-1"), 1), Sig: local.Sig}
	})
	for _, change := range [][2]string{{`"pid":4242`, `"pid":0`}, {`"pid":4242`, `"pid":9007199254740992`}, {`"uid":1000`, `"uid":9007199254740992`},
		{`{"account"`, `{"after":1,"account"`}, {`{"account"`, `{"counter":1,"account"`}, {`{"account"`, `{"device":"` + w.ids["phone"] + `","account"`},
		{`{"account"`, `{"fresh":"` + w.fresh.Token(now) + `","account"`}} {
		with("local, with "+change[1], BadMessage, "phone", func(i *inputs) {
			i.Signed = &Signed{Statement: bytes.Replace(local.Statement, []byte(change[0]), []byte(change[1]), 1), Sig: local.Sig}
		})
	}
	stop := bytes.Replace(local.Statement, []byte(`"kind":"decide"`), []byte(`"kind":"stop"`), 1)
	for _, name := range []string{"decision", "scope", "request_sha256", "args_sha256"} {
		stop = regexp.MustCompile(`"`+name+`":"[^"]*",`).ReplaceAll(stop, nil)
	}
	with("local, of a stop", BadMessage, "phone", func(i *inputs) { i.Signed = &Signed{Statement: stop, Sig: local.Sig} })
	with("local, of a device", UnknownDevice, "phone", func(i *inputs) {
		s := w.statement(KindDecide)
		s.Counter, s.Fresh, s.Host = 0, "", w.ids["phone"]
		c, err := s.SignLocal(w.keys["phone"], Process{UID: 1, PID: 1}, json.RawMessage(`{}`), now)
		if err != nil {
			w.t.Fatal(err)
		}
		i.Signed = &c.Signed
	})
	with("local, signed as a command", BadSignature, "phone", func(i *inputs) {
		i.Signed = &Signed{Statement: local.Statement, Sig: w.keys["host"].signText(contextCommand, local.Statement)}
	})
}
