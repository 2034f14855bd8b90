package seal

import (
	"fmt"
	"strings"
	"time"
)

func (v *vectors) addLinks(w *world) {
	link := NewLink("https://pages.example/app/", w.roster.Account(), "https://relay.example", now.Add(10*time.Minute))
	text := link.String()
	server := *link
	server.Page = "HTTPS://Relay.Example:443/"
	v.add("link", "of another origin", "", inputs{Text: text})
	v.add("link", "of the relay's page", "", inputs{Text: server.String()})
	v.add("link", "with a port", "", inputs{Text: strings.Replace(text, "pages.example", "127.0.0.1:8080", 1)})
	parts := strings.Split(text, ".")
	expiry := func(name, to string) {
		v.add("link", "an expiry of "+name, BadMessage, inputs{Text: strings.Replace(text, fmt.Sprint(".", link.Expires.Unix(), "."), "."+to+".", 1)})
	}
	expiry("-5", "-5")
	expiry("a text", "x")
	expiry("2^53", "9007199254740992")
	expiry("2^64", "18446744073709551616")
	v.add("link", "a session that is no id", BadMessage, inputs{Text: strings.Replace(text, link.Session, "j/1", 1)})
	v.add("link", "without a secret", BadMessage, inputs{Text: strings.Replace(text, encode64(link.Secret), "", 1)})
	v.add("link", "without fragment", BadMessage, inputs{Text: "https://pages.example/"})
	v.add("link", "four parts", BadMessage, inputs{Text: strings.Join(parts[:len(parts)-1], ".")})
	v.add("link", "six parts", BadMessage, inputs{Text: text + ".x"})
	v.add("link", "a secret of 31 bytes", BadMessage, inputs{Text: strings.Replace(text, encode64(link.Secret), encode64(link.Secret[1:]), 1)})
	v.add("link", "a secret in another form", BadMessage, inputs{Text: strings.Replace(text, encode64(link.Secret), encode64(link.Secret)+"=", 1)})
	v.add("link", "an expiry with a sign", BadMessage, inputs{Text: strings.Replace(text, fmt.Sprint(".", link.Expires.Unix(), "."), fmt.Sprint(".+", link.Expires.Unix(), "."), 1)})
	v.add("link", "a page with another scheme", BadMessage, inputs{Text: strings.Replace(text, "https://pages", "javascript://pages", 1)})
	v.add("link", "a page with a user", BadMessage, inputs{Text: strings.Replace(text, "https://pages", "https://a@pages", 1)})
	bad := *link
	bad.Server = "ftp://relay.example"
	v.add("link", "a server with another scheme", BadMessage, inputs{Text: bad.String()})
	bad.Server, bad.Account = link.Server, "a/b"
	v.add("link", "an account that is no id", BadMessage, inputs{Text: bad.String()})

	m := NewMember(w.keys["phone"], link.Account, Device, "")
	ok, err := link.Reply(m, "Firefox on a phone", now)
	if err != nil {
		w.t.Fatal(err)
	}
	answer := func(name string, code Code, text string, at time.Time, l *Link) {
		v.add("reply", name, code, inputs{Text: text, Link: l.String(), Now: at.UnixMilli()})
	}
	answer("valid", "", string(ok), now, link)
	host := NewMember(w.keys["host"], link.Account, Host, hostID)
	text2, err := link.Reply(host, "mbp", now)
	if err != nil {
		w.t.Fatal(err)
	}
	answer("of a host", "", string(text2), now, link)
	answer("expired", Expired, string(ok), now.Add(10*time.Minute), link)
	other := *link
	other.Secret = make([]byte, 32)
	answer("another secret", BadSignature, string(ok), now, &other)
	answer("a changed name", BadSignature, strings.Replace(string(ok), "Firefox", "Firefux", 1), now, link)
	answer("an empty mac", BadMessage, strings.Replace(string(ok), `"mac":`, `"mac":"","mad":`, 1), now, link)
	answer("an unknown member", BadMessage, strings.Replace(string(ok), `"v":1`, `"v":1,"w":2`, 1), now, link)
	signed := func(name string, code Code, change func(r *reply)) {
		r := reply{V: 1, Account: link.Account, Session: link.Session, Kind: m.Kind, ID: m.ID, Name: "phone", PublicKeys: m.PublicKeys, OwnSig: m.OwnSig}
		change(&r)
		r.MAC = encode64(link.mac(r))
		answer(name, code, string(encode(r)), now, link)
	}
	signed("version 2", Unsupported, func(r *reply) { r.V = 2 })
	signed("another account", WrongRequest, func(r *reply) { r.Account = "a_other" })
	signed("another session", WrongRequest, func(r *reply) { r.Session = "j_other" })
	signed("no name", BadMessage, func(r *reply) { r.Name = "" })
	signed("an unknown kind", BadMessage, func(r *reply) { r.Kind = "server" })
	signed("another own_sig", BadSignature, func(r *reply) { r.OwnSig = host.OwnSig })
	signed("another id", BadMessage, func(r *reply) { r.ID = "d_other" })
}

func (v *vectors) addDigits(w *world) {
	session, keys := NewSession(), NewKeys()
	play := func(change func(a *Adder, j *Joiner)) []string {
		a, j := NewAdder(session, w.roster), NewJoiner(session, keys, Device, "", "tablet")
		m := []string{string(a.Commit()), string(j.Commit()), string(a.reveal), string(j.reveal), ""}
		if _, _, _, err := j.Receive(a.reveal); codeOf(w.t, err) != BadSignature { // without the commitment
			w.t.Fatal(err)
		}
		j.peer = encode64(hashInContext(contextCommit, a.reveal))
		if _, _, _, err := j.Receive(a.reveal); err != nil {
			w.t.Fatal(err)
		}
		change(a, j)
		confirm, err := j.Confirm()
		if err != nil {
			w.t.Fatal(err)
		}
		m[4] = string(confirm)
		return m
	}
	with := func(name string, code Code, change func(m []string)) {
		m := play(func(*Adder, *Joiner) {})
		change(m)
		v.add("digits", name, code, inputs{Session: session, Account: w.roster.Account(), Messages: m})
	}
	with("valid", "", func([]string) {})
	other := play(func(*Adder, *Joiner) {})
	with("another reveal of the adding side", BadSignature, func(m []string) { m[2] = other[2] })
	with("another reveal of the new member", BadSignature, func(m []string) { m[3] = other[3] })
	with("another commitment", BadSignature, func(m []string) { m[0] = other[0] })
	with("the wrong side", WrongRequest, func(m []string) { m[1] = m[0] })
	with("another session", WrongRequest, func(m []string) { m[0] = strings.Replace(m[0], session, "j_other", 1) })
	with("no commitment", BadMessage, func(m []string) { m[1] = "{}" })
	with("a commitment of 31 bytes", BadMessage, func(m []string) {
		m[1] = string(encode(commitMessage{1, session, sideJoin, encode64(make([]byte, 31))}))
	})
	// committed changes a reveal and its commitment.
	committed := func(name string, code Code, i int, from, to string) {
		with(name, code, func(m []string) {
			m[i] = strings.Replace(m[i], from, to, 1)
			m[i-2] = string(encode(commitMessage{1, session, []string{sideAdd, sideJoin}[i-2], encode64(hashInContext(contextCommit, []byte(m[i])))}))
		})
	}
	committed("a reveal of the adding side for another session", WrongRequest, 2, session, "j_other")
	committed("a reveal of the new member for another session", WrongRequest, 3, session, "j_other")
	committed("a reveal of the wrong side", WrongRequest, 3, `"side":"join"`, `"side":"add"`)
	committed("a reveal of version 2", Unsupported, 3, `"v":1`, `"v":2`)
	committed("a reveal with an unknown member", BadMessage, 3, `"v":1`, `"v":1,"w":1`)
	committed("a reveal of the adding side with an unknown member", BadMessage, 2, `"v":1`, `"v":1,"w":1`)
	committed("an invisible name", BadMessage, 3, `"name":"tablet"`, "\"name\":\"\u200b\"")
	committed("an empty name", BadMessage, 3, `"name":"tablet"`, `"name":""`)
	committed("a short nonce", BadMessage, 3, `"nonce":"`, `"nonce":"AA`)
	committed("an account that is no id", BadMessage, 2, w.roster.Account(), "a/1")
	committed("a position of 0", BadMessage, 2, `"n":9`, `"n":0`)
	committed("a short hash", BadMessage, 2, w.roster.Head().Hash, w.roster.Head().Hash[1:])
	committed("an id of other keys", BadMessage, 3, `"id":"d_`, `"id":"d_A`)
	with("a confirmation for another session", WrongRequest, func(m []string) { m[4] = strings.Replace(m[4], session, "j_other", 1) })
	with("a confirmation with an unknown member", BadMessage, func(m []string) { m[4] = strings.Replace(m[4], `"v":1`, `"v":1,"w":1`, 1) })
	with("reveals swapped", BadMessage, func(m []string) { m[2], m[3] = m[3], m[2] })
	short := strings.Replace(other[2], `"nonce":"`, `"nonce":"AA`, 1)
	with("a nonce of another size", BadMessage, func(m []string) { m[2] = short })
	with("an unknown member", BadMessage, func(m []string) { m[0] = strings.Replace(m[0], `"v":1`, `"v":1,"w":1`, 1) })
	with("version 2", Unsupported, func(m []string) { m[0] = strings.Replace(m[0], `"v":1`, `"v":2`, 1) })
	with("own_sig of another key", BadSignature, func(m []string) {
		m[4] = string(encode(confirmMessage{1, session, sideJoin, NewMember(NewKeys(), w.roster.Account(), Device, "").OwnSig}))
	})
	with("own_sig for another account", BadSignature, func(m []string) {
		m[4] = string(encode(confirmMessage{1, session, sideJoin, NewMember(keys, "a_other", Device, "").OwnSig}))
	})
}
