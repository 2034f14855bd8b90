package secret

import "testing"

func TestRecorded(t *testing.T) {
	s := &Set{}
	s.Add("A_KEY", "hunter-two")
	r := s.Recorded()
	s.Add("B_KEY", "correct horse")
	for _, c := range []struct{ text, recorded string }{
		{"say hunter-two twice: hunter-two", "say «secret:A_KEY» twice: «secret:A_KEY»"},
		{"later correct horse", "later «secret:B_KEY»"},
		{"a mark «secret:A_KEY» is none", "a mark ««secret:A_KEY» is none"},
		{"«secret: open", "««secret: open"},
		{"««secret:»", "«««secret:»"},
		{"nothing", "nothing"},
	} {
		got := r.Text(Escape(c.text))
		if got != c.recorded {
			t.Errorf("%q is recorded as %q, want %q", c.text, got, c.recorded)
		}
		back := Restore(got, func(name string) (string, bool) {
			v, ok := map[string]string{"A_KEY": "hunter-two", "B_KEY": "correct horse"}[name]
			return v, ok
		})
		if back != c.text {
			t.Errorf("%q comes back as %q", c.text, back)
		}
		if kept := Restore(got, func(string) (string, bool) { return "", false }); r.Text(kept) != r.Text(c.text) && kept == "" {
			t.Errorf("%q without its secrets: %q", got, kept)
		}
	}
	if got := r.JSON([]byte(`{"a":"Bearer abcdefgh12345678","b":"hunter-two"}`)); string(got) != `{"a":"«redacted»","b":"«secret:A_KEY»"}` {
		t.Errorf("%s", got)
	}
	if got := s.Text("Bearer abcdefgh12345678 hunter-two"); got != "Bearer abcdefgh12345678 ***A_KEY***" {
		t.Error(got)
	}
}
