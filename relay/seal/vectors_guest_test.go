package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// guestGrant returns a grant for the share of a link, by a device.
func (w *world) guestGrant(secret Key, by string, change func(g *Grant)) []byte {
	w.t.Helper()
	g := Grant{V: 1, Account: w.roster.Account(), Host: hostID, Share: secret.ShareID(), Runs: []string{"run_0", "run_1"}, Page: PageServer,
		At: formatTime(now.Add(-time.Minute)), Expires: formatTime(now.Add(time.Hour)), Roster: w.roster.Head(), By: w.keys[by].Public().DeviceID()}
	if change != nil {
		change(&g)
	}
	g.Sig = w.keys[by].signText(contextGrant, encode(g))
	return encode(g)
}

// guestInputs are the inputs of a vector with a command of a guest.
func (w *world) guestInputs(secret Key, e *Epoch, s Statement, data string) inputs {
	w.t.Helper()
	if w.keys["link"] == nil {
		w.keys["link"] = NewKeys()
	}
	key := secret.GuestKey()
	sealed, err := SealGuestCommand(e, key, secret.ShareID(), w.keys["link"], w.sign(s, "link", data))
	if err != nil {
		w.t.Fatal(err)
	}
	return inputs{Roster: "main", Host: hostID, FreshKey: encode64(w.fresh[:]), Epochs: []*Epoch{e}, Text: string(encode(sealed)), Secret: &key,
		Grant: string(w.guestGrant(secret, "phone", nil)), Kind: s.Kind, Run: s.Run, ID: s.ID, Request: (*vectorRequest)(request()), Now: now.UnixMilli()}
}

func runGuest(r *Roster, in *inputs, at time.Time) (map[string]any, error) {
	sealed, err := ParseSealedCommand([]byte(in.Text))
	if err != nil {
		return nil, err
	}
	e, err := CommandEpoch(in.Epochs, sealed.Epoch, at)
	if err != nil {
		return nil, err
	}
	c, err := e.OpenGuestCommand(*in.Secret, in.Run, in.Kind, sealed)
	if err != nil {
		return nil, err
	}
	g := &Guest{Sign: c.Guest.Sign, Grant: json.RawMessage(in.Grant)}
	check := &Checker{r, in.Host, FreshKey(decode64(in.FreshKey, 32))}
	ok, err := check.Check(c, Envelope{in.Kind, in.Run, in.ID, (*Request)(in.Request), g}, DeviceState{}, at)
	if err != nil {
		return nil, err
	}
	return map[string]any{"device": ok.Device.ID, "user": ok.Device.User, "page": ok.Device.Page, "data": string(ok.Data)}, nil
}

func (v *vectors) addGuests(w *world, e *Epoch) {
	secret := NewShareSecret()
	with := func(name string, code Code, change func(s *Statement), after func(in *inputs)) {
		s := w.statement(KindDecide)
		if change != nil {
			change(&s)
		}
		in := w.guestInputs(secret, e, s, `{"text":"fine"}`)
		if after != nil {
			after(&in)
		}
		v.add("guest", name, code, in)
	}
	granted := func(name string, code Code, by string, change func(g *Grant)) {
		with(name, code, nil, func(in *inputs) { in.Grant = string(w.guestGrant(secret, by, change)) })
	}
	with("a decision", "", nil, nil)
	granted("by a link of another page", "", "phone", func(g *Grant) { g.Page = "https://pages.example" })
	with("a grant in another form", "", nil, func(in *inputs) { in.Grant = strings.Replace(in.Grant, `"v":1`, `"v": 1`, 1) })
	with("for a session", Forbidden, func(s *Statement) { s.Scope = "session" }, nil)
	with("for another run", Forbidden, func(s *Statement) { s.Run = "run_2" }, nil)
	with("of another host", Forbidden, func(s *Statement) { s.Host = "host_b" }, nil)
	with("an input", Forbidden, func(s *Statement) { *s = w.statement(KindInput) }, nil)
	with("of high risk", PageNotTrusted, nil, func(in *inputs) { in.Request.Risk = "high" })
	with("with changed arguments", ArgsChanged, nil, func(in *inputs) { in.Request.ArgsSHA256 = in.Request.SHA256 })
	with("of an old time", Stale, func(s *Statement) { s.Fresh = w.fresh.Token(now.Add(-25 * time.Hour)) }, nil)
	with("of a newer roster", RosterFork, func(s *Statement) { s.Roster.N++ }, nil)
	with("of another roster", RosterFork, func(s *Statement) { s.Roster.Hash = w.roster.hashes[0] }, nil)
	with("of a roster without the host", UnknownDevice, func(s *Statement) { s.Roster = Position{1, w.roster.hashes[0]} }, nil)
	for _, name := range []string{"guest", "tablet"} { // the tablet was removed
		with("with the key of the device "+name, UnknownDevice, nil, func(in *inputs) {
			sealed, err := SealGuestCommand(e, *in.Secret, secret.ShareID(), w.keys[name], w.sign(w.statement(KindDecide), name, `{}`))
			if err != nil {
				w.t.Fatal(err)
			}
			in.Text = string(encode(sealed))
		})
	}
	with("of an unknown epoch", OldEpoch, nil, func(in *inputs) { in.Text = strings.Replace(in.Text, `"epoch":`, `"epoch":1`, 1) })
	with("of another link", BadSignature, nil, func(in *inputs) { other := NewShareSecret().GuestKey(); in.Secret = &other })
	with("for another run of the frame", BadSignature, nil, func(in *inputs) { in.Run = "run_2" })
	with("under a command key", BadSignature, nil, func(in *inputs) {
		sealed, err := e.SealCommand(w.sign(w.statement(KindDecide), "phone", `{}`))
		if err != nil {
			w.t.Fatal(err)
		}
		sealed.Device = secret.ShareID()
		in.Text = string(encode(sealed))
	})
	raw := func(name string, code Code, change func(c *Command)) {
		with(name, code, nil, func(in *inputs) {
			c, key := w.sign(w.statement(KindDecide), "link", `{}`), secret.GuestKey()
			c.Guest = &Guest{Sign: w.keys["link"].Public().Sign}
			c.Guest.MAC = encode64(hmacInContext(key[:], contextGuest, c.Guest.own(e.Account, e.Host, secret.ShareID())))
			change(&c)
			out := &SealedCommand{ID: "req_1", Device: secret.ShareID(), Epoch: e.N}
			out.CT = must(sealText(key.guestCommand(e.N).aead(), e.place("command", "run_1", KindDecide, out), encode(c)))
			in.Text = string(encode(out))
		})
	}
	raw("sealed again", "", func(*Command) {})
	raw("without a guest", BadMessage, func(c *Command) { c.Guest = nil })
	raw("with a grant", BadMessage, func(c *Command) { c.Guest.Grant = json.RawMessage(`{}`) })
	raw("with a signature of the host", BadMessage, func(c *Command) { c.Guest.Sig = c.Sig })
	raw("with an invalid sign_key", BadMessage, func(c *Command) { c.Guest.Sign = c.Guest.Sign[1:] })
	raw("with another mac", BadSignature, func(c *Command) { c.Guest.MAC = e.Secret.ShareID() })
	raw("with another sign_key", BadSignature, func(c *Command) { c.Guest.Sign = w.keys["phone"].Public().Sign })
	raw("by another device", WrongRequest, func(c *Command) {
		g := c.Guest
		c.Signed = w.sign(w.statement(KindDecide), "phone", `{}`).Signed
		c.Guest = g
	})
	raw("with another signature", BadSignature, func(c *Command) { c.Sig = w.sign(w.statement(KindDecide), "link", `{}`).Sig })

	granted("granted by an operator", Forbidden, "browser", nil)
	granted("granted by a host", Forbidden, "host", func(g *Grant) { g.By = hostID })
	granted("granted by a removed device", UnknownDevice, "tablet", nil)
	granted("granted by a stranger", UnknownDevice, "link", nil)
	granted("granted in another name", BadSignature, "phone", func(g *Grant) { g.By = w.ids["cli"] })
	granted("granted in another account", WrongRequest, "phone", func(g *Grant) { g.Account = "a_other" })
	granted("granted for another host", Forbidden, "phone", func(g *Grant) { g.Host = "host_b" })
	granted("granted for other runs", Forbidden, "phone", func(g *Grant) { g.Runs = []string{"run_2"} })
	granted("granted until now", UnknownDevice, "phone", func(g *Grant) { g.Expires = formatTime(now) })
	granted("granted in another roster", RosterFork, "phone", func(g *Grant) { g.Roster.Hash = w.roster.hashes[0] })
	granted("granted in version 2", Unsupported, "phone", func(g *Grant) { g.V = 2 })
	granted("granted without runs", BadMessage, "phone", func(g *Grant) { g.Runs = []string{} })
	granted("granted for an invalid run", BadMessage, "phone", func(g *Grant) { g.Runs = []string{"a b"} })
	granted("granted for an invalid share", BadMessage, "phone", func(g *Grant) { g.Share = "" })
	granted("granted for a command line", BadMessage, "phone", func(g *Grant) { g.Page = PageCLI })
	granted("granted until the same time", BadMessage, "phone", func(g *Grant) { g.Expires = g.At })
	with("granted for a longer time", BadSignature, nil, func(in *inputs) { in.Grant = strings.Replace(in.Grant, `"expires":"2026`, `"expires":"2027`, 1) })
	with("without a grant", BadMessage, nil, func(in *inputs) { in.Grant = `{}` })
	v.addGuestLedger(w, secret)
}

func (v *vectors) addGuestLedger(w *world, secret Key) {
	with := func(name string, code Code, change func(g *Guest, in *inputs)) {
		c := w.sign(w.statement(KindDecide), "link", `{}`)
		g, err := (&Guest{Sign: w.keys["link"].Public().Sign}).Admit(w.roster, w.keys["host"], w.guestGrant(secret, "phone", nil))
		if err != nil {
			w.t.Fatal(err)
		}
		in := inputs{Roster: "main", Signed: &c.Signed, ArgsSHA256: request().ArgsSHA256, Now: now.UnixMilli()}
		change(g, &in)
		in.Signed.Guest = g
		v.add("ledger", "by a guest"+name, code, in)
	}
	with("", "", func(*Guest, *inputs) {})
	with(" after its link has expired", UnknownDevice, func(_ *Guest, in *inputs) { in.Now = now.Add(time.Hour).UnixMilli() })
	with(" that the host has not signed", BadSignature, func(g *Guest, _ *inputs) { g.Sig = w.keys["phone"].signText(contextGuest, []byte("x")) })
	with(" with its mac", BadSignature, func(g *Guest, _ *inputs) { g.MAC = g.Sig })
	with(" with another key", UnknownDevice, func(g *Guest, _ *inputs) { g.Sign = w.keys["phone"].Public().Sign })
	with(" with a grant for other runs", Forbidden, func(g *Guest, _ *inputs) {
		g.Grant = w.guestGrant(secret, "phone", func(x *Grant) { x.Runs = []string{"run_2"} })
	})
	with(" with a grant of an operator", Forbidden, func(g *Guest, _ *inputs) { g.Grant = w.guestGrant(secret, "browser", nil) })
	with(" with a grant of another link", BadSignature, func(g *Guest, _ *inputs) { g.Grant = w.guestGrant(NewShareSecret(), "phone", nil) })
	with(" with the key of a removed device", UnknownDevice, func(g *Guest, in *inputs) {
		c := w.sign(w.statement(KindDecide), "tablet", `{}`)
		next, err := (&Guest{Sign: w.keys["tablet"].Public().Sign}).Admit(w.roster, w.keys["host"], w.guestGrant(secret, "phone", nil))
		if err != nil {
			w.t.Fatal(err)
		}
		*g, in.Signed = *next, &c.Signed
	})
	with(" with a changed decision", BadSignature, func(_ *Guest, in *inputs) {
		in.Signed.Statement = bytes.Replace(in.Signed.Statement, []byte("approve"), []byte("deny"), 1)
	})
	with(" and local", WrongRequest, func(_ *Guest, in *inputs) {
		c, err := w.statement(KindDecide).SignLocalFor(w)
		if err != nil {
			w.t.Fatal(err)
		}
		in.Signed = &c.Signed
	})
}

// randomGuest returns a case with a command of a guest, which is changed in one half of the calls.
func (w *world) randomGuest(r *rand.Rand, e *Epoch, data string) inputs {
	in := w.guestInputs(NewShareSecret(), e, w.statement(KindDecide), data)
	if r.IntN(2) == 0 {
		in.Text = string(flip(r, []byte(in.Text)))
	} else {
		in.Grant = string(flip(r, []byte(in.Grant)))
	}
	in.Now += int64(r.IntN(2)) * int64(r.IntN(int(2*time.Hour/time.Millisecond)))
	in.ID = fmt.Sprint("req_", 1+r.IntN(8)/7)
	return in
}
