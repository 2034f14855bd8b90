package secret

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// values returns a function that returns secrets by name.
func values(all map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := all[name]
		return v, ok
	}
}

func TestForTapes(t *testing.T) {
	s := &Set{}
	s.Add("A_KEY", "hunter-two")
	s.AddHeader("AUTH", "Basic dXNlcjpwYXNzd29yZA==")
	r := s.ForTapes(regexp.MustCompile(`cust_[0-9]+`))
	s.Add("B_KEY", `"correct" hörse+/?`)
	secrets := values(map[string]string{"A_KEY": "hunter-two", "B_KEY": `"correct" hörse+/?`, "AUTH": "Basic dXNlcjpwYXNzd29yZA=="})
	for _, c := range []struct{ text, recorded string }{
		{"say hunter-two twice: hunter-two", "say «secret:A_KEY» twice: «secret:A_KEY»"},
		{`later "correct" hörse+/?`, "later «secret:B_KEY»"},
		{"?q=%22correct%22+h%C3%B6rse%2B%2F%3F&x", "?q=«secret:B_KEY:url»&x"},
		{"/%22correct%22%20h%C3%B6rse+%2F%3F", "/«secret:B_KEY:path»"},
		{"%22correct%22%20h%C3%B6rse%2B%2F%3F", "«secret:B_KEY:component»"},
		{"%22correct%22+h%c3%b6rse%2b%2f%3f", "«secret:B_KEY:lower»"},
		{"in base64: aHVudGVyLXR3bw==.", "in base64: «secret:A_KEY:base64»."},
		{"unpadded: aHVudGVyLXR3bw.", "unpadded: «secret:A_KEY:rawbase64»."},
		{`{"a":"\"correct\" hörse+/?"}`, `{"a":"«secret:B_KEY:json»"}`},
		{`{"a":"\"correct\" h\u00f6rse+/?"}`, `{"a":"«secret:B_KEY:ascii»"}`},
		{"Basic dXNlcjpwYXNzd29yZA==", "«secret:AUTH»"},
		{"its password is password", "its «secret:AUTH:password» is «secret:AUTH:password»"},
		{"dXNlcjpwYXNzd29yZA==", "«secret:AUTH:credentials»"},
		{"in base64 of a longer text: eGh1bnRlci10d28=", "in base64 of a longer text: eG«secret:A_KEY:base64at1»8="},
		{"/%22correct%22%20h%C3%B6rse+/%3F", "/«secret:B_KEY:uri»"},
		{`echo \"correct\"\ hörse+/\?`, "echo «secret:B_KEY:backslash»"},
		{"a mark «secret:A_KEY» is none", "a mark ««secret:A_KEY» is none"},
		{"«secret: open", "««secret: open"},
		{"««secret:»", "««««secret:»"},
		{"«hunter-two «« x", "«««secret:A_KEY» «« x"},
		{"nothing", "nothing"},
	} {
		got := r.Text(c.text)
		if got != c.recorded {
			t.Errorf("recorded form of %q = %q, want %q", c.text, got, c.recorded)
		}
		if back := Restore(got, secrets); back != c.text {
			t.Errorf("restored form of %q = %q", c.text, back)
		}
	}
	for _, c := range []struct{ text, recorded string }{
		{`{"a":"Bearer abcdefgh12345678","b":"hunter-two","c":"cust_17 and cust_x"}`, `{"a":"«redacted»","b":"«secret:A_KEY»","c":"«redacted» and cust_x"}`},
		{`{"headers":[{"name":"Authorization","value":"Token 1"},{"name":"accept","value":"*"},{"name":"x-api-key","value":"hunter-two"}]}`,
			`{"headers":[{"name":"Authorization","value":"«redacted»"},{"name":"accept","value":"*"},{"name":"x-api-key","value":"«redacted»"}]}`},
		{`{"headers":{"Accept":"*","Cookie":"a=\"b\"","X-API-Key":"1"},"cookie":"of chocolate"}`, `{"headers":{"Accept":"*","Cookie":"«redacted»","X-API-Key":"«redacted»"},"cookie":"of chocolate"}`},
		{`{"line":"{\"headers\":{\"cookie\":\"a\"}}"}`, `{"line":"{\"headers\":{\"cookie\":\"«redacted»\"}}"}`},
	} {
		if got := string(r.JSON([]byte(c.text))); got != c.recorded {
			t.Errorf("recorded form of %s\n= %s\nwant %s", c.text, got, c.recorded)
		}
	}
	if got := string(s.ForJournal().JSON([]byte(`{"a":"Bearer abcdefgh12345678","b":"hunter-two"}`))); got != `{"a":"Bearer abcdefgh12345678","b":"«secret:A_KEY»"}` {
		t.Errorf("the tape contains a secret: %s", got)
	}
	if got := s.Text("Bearer abcdefgh12345678 hunter-two"); got != "Bearer abcdefgh12345678 ***A_KEY***" {
		t.Error(got)
	}
}

// TestMissing checks that the mark of an unknown secret is recorded as the same mark.
func TestMissing(t *testing.T) {
	r := (&Set{}).ForTapes()
	r.Missing("GONE")
	for text, want := range map[string]string{
		"«secret:GONE» «secret:GONE:url» «secret:OTHER»": "«secret:GONE» «secret:GONE:url» ««secret:OTHER»",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("recorded form of %q = %q, want %q", text, got, want)
		}
	}
}

// TestJournalTextIsRestored checks that stored texts contain no secret in any encoding, and are
// restored exactly, whatever text is around the secrets.
func TestJournalTextIsRestored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := map[string]string{"A": rapid.StringMatching(`[ -~é]{6,9}`).Draw(t, "A"), "B": rapid.StringMatching(`[a-c"]{6,7}`).Draw(t, "B")}
		s := &Set{}
		for name, v := range secrets {
			secrets[name] = strings.TrimSpace(v)
			s.Add(name, v)
		}
		pieces := []string{"«", "»", "«secret:", "x", "%", `\`, `"`, "=", "sk-ABCDEFGHIJ1", `"headers":{"Cookie":"c"}`, `"name":"X-API-Key","value":"v"`, "\n", `\u`, `\/`}
		for _, v := range []string{secrets["A"], secrets["B"]} {
			pieces = append(pieces, v)
			for _, w := range writings {
				pieces = append(pieces, w.write(v))
			}
		}
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "")
		r := s.ForJournal()
		cleaned := r.Text(text)
		if back := Restore(cleaned, values(secrets)); back != text {
			t.Fatalf("stored form of %q = %q, restored form = %q", text, cleaned, back)
		}
		whole, _ := json.Marshal(map[string]any{"text": text, "n": 1234567})
		for _, of := range []*Record{r, s.ForTapes()} {
			for _, doc := range []string{string(whole), text, text + "\xff"} {
				if got, want := string(of.JSON([]byte(doc))), string(of.searchJSON([]byte(doc))); got != want {
					t.Fatalf("JSON(%s) = %s, but the whole search returns %s", doc, got, want)
				}
			}
		}
		if back := RestoreJSON(r.JSON(whole), values(secrets)); !same(back, whole) {
			t.Fatalf("restored form of the JSON of %s = %s", whole, back)
		}
	})
}

// TestCleanTextIsNotCopied checks that a text without secrets is returned without a search of its
// parts, also in a run without secrets.
func TestCleanTextIsNotCopied(t *testing.T) {
	text := []byte(`{"answer":"it said \"yes\"\n","name":"x","value":1}`)
	with := &Set{}
	with.Add("KEY", "abcdefgh")
	for name, s := range map[string]*Set{"without secrets": {}, "with a secret": with} {
		for _, r := range []*Record{s.ForJournal(), s.ForTapes()} {
			if !r.isClean(text) || &r.JSON(text)[0] != &text[0] {
				t.Errorf("%s: JSON copies %s", name, text)
			}
		}
	}
}

func same(a, b []byte) bool {
	var x, y map[string]any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x["text"] == y["text"] && x["n"] == y["n"]
}
