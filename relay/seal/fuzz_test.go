package seal

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// addVectors adds the texts of the vectors of a format to a corpus.
func addVectors(f *testing.F, format string, text func(in *inputs) []byte) {
	for _, c := range readVectors(f).Cases {
		if c.Format == format {
			f.Add(text(&c.In))
		}
	}
}

// checkRefusal reports whether err is nil. The test fails if it is no refusal.
func checkRefusal(t *testing.T, err error) bool {
	codeOf(t, err)
	return err == nil
}

func FuzzRosterLine(f *testing.F) {
	main := []byte(readVectors(f).Rosters["main"])
	roster, err := ParseRoster(main, "", Position{})
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range bytes.Split(main, []byte("\n")) {
		f.Add(l)
	}
	addVectors(f, "roster", func(in *inputs) []byte { return []byte(in.Text) })
	f.Fuzz(func(t *testing.T, text []byte) {
		after := *roster
		after.members = append([]membership{}, roster.members...)
		head := roster.Head()
		if checkRefusal(t, after.Append(text)) && after.Head() != head {
			if again, err := ParseRoster(after.Text(), roster.Account(), head); err != nil || again.Head() != after.Head() {
				t.Errorf("the roster is not read again: %v", err)
			}
		}
		if r, err := ParseRoster(text, "", Position{}); checkRefusal(t, err) && r.Head().N < 1 {
			t.Error("a roster without lines")
		}
	})
}

func FuzzPolicy(f *testing.F) {
	w := newWorld(f)
	for _, text := range []string{`{"decide":{"high":"pinned","low":"any"}}`, `{"decide":{"medium":"none"}}`, `{"decide":{"high":null}}`, `{"decide":{},"x":1}`, `{}`, `[]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		body, err := canonical(body)
		if !checkRefusal(t, err) {
			return
		}
		after := *w.roster
		if !checkRefusal(t, after.Append(w.line(line{By: w.ids["cli"], Kind: kindPolicy, Body: body}, w.keys["cli"]))) {
			return
		}
		p := after.Policy()
		for _, l := range p.Levels() {
			if again, ok := p.With(l.Risk, l.Pages); !ok || again.Levels() != p.Levels() || !p.allows(PageCLI, l.Risk) || p.allows(PageServer, l.Risk) == (l.Pages == levelPinned) {
				t.Errorf("policy = %+v", p)
			}
		}
	})
}

func FuzzStatement(f *testing.F) {
	w := newWorld(f)
	addVectors(f, "command", func(in *inputs) []byte { return []byte(in.Command.Statement) })
	f.Fuzz(func(t *testing.T, text []byte) {
		s, form, err := Signed{Statement: text}.read()
		if !checkRefusal(t, err) {
			return
		}
		if again, form2, err := (Signed{Statement: form}).read(); err != nil || !bytes.Equal(form, form2) || !bytes.Equal(encode(s), encode(again)) {
			t.Errorf("%s is read again as %s: %v", form, form2, err)
		}
		c := Command{Signed: Signed{Statement: text, Sig: encode64(make([]byte, 64))}, Content: json.RawMessage(`{}`)}
		if _, err := w.checker().Check(c, Envelope{Kind: s.Kind, Run: s.Run, ID: s.ID, Request: request()}, DeviceState{}, now); checkRefusal(t, err) {
			t.Error("accepted without a signature")
		}
		if _, _, err := w.roster.VerifyDecision(c.Signed, now, ""); checkRefusal(t, err) {
			t.Error("verified without a signature")
		}
	})
}

func FuzzContent(f *testing.F) {
	addVectors(f, "command", func(in *inputs) []byte { return in.Command.Content })
	f.Fuzz(func(t *testing.T, text []byte) {
		form, err := canonical(text)
		if !checkRefusal(t, err) {
			return
		}
		data, err := readContent(form)
		if checkRefusal(t, err) && !bytes.Contains(form, data) {
			t.Errorf("%s is not in %s", data, form)
		}
	})
}

func FuzzLink(f *testing.F) {
	for _, c := range readVectors(f).Cases {
		if c.Format == "link" {
			f.Add(c.In.Text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := ParseLink(text); checkRefusal(t, err) && (l.String() != text || l.MemberPage() == "") {
			t.Errorf("%q is written as %q", text, l)
		}
	})
}

func FuzzRecoveryCode(f *testing.F) {
	for _, c := range readVectors(f).Cases {
		if c.Format == "recovery_code" {
			f.Add(c.In.Text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseRecoveryCode(text)
		if again, err2 := ParseRecoveryCode(c.String()); checkRefusal(t, err) && (err2 != nil || again != c) {
			t.Errorf("%q is read as %v and %v", text, c, again)
		}
	})
}

func FuzzMessages(f *testing.F) {
	w := newWorld(f)
	link := NewLink("https://a.example/", w.roster.Account(), "https://b.example", now.Add(time.Hour))
	addVectors(f, "reply", func(in *inputs) []byte { return []byte(in.Text) })
	for _, c := range readVectors(f).Cases {
		for _, m := range c.In.Messages {
			f.Add([]byte(m))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, _, err := link.Accept(text, now); checkRefusal(t, err) {
			t.Error("accepted without the secret")
		}
		a, j := NewAdder("j_1", w.roster), NewJoiner("j_1", w.keys["phone"], Device, "", "phone")
		_, err := a.Reveal(text)
		checkRefusal(t, err)
		if _, _, err := a.Receive(text); checkRefusal(t, err) {
			t.Error("accepted a reveal without its commitment")
		}
		if _, _, _, err := j.Receive(text); checkRefusal(t, err) {
			t.Error("accepted a reveal without its commitment")
		}
		if _, err := a.Finish(text); checkRefusal(t, err) {
			t.Error("finished without the digits")
		}
		if _, err := ParseKeys(text); err != nil {
			checkRefusal(t, err)
		}
	})
}
