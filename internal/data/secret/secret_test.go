package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func one(value string) *Set {
	s := &Set{}
	s.Add("KEY", value)
	return s
}

func TestText(t *testing.T) {
	const key = `sk-a/b"c\dé 1`
	quoted, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(quoted))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"raw", "wrong key " + key + "!", "wrong key ***KEY***!"},
		{"twice", key + key, "***KEY******KEY***"},
		{"json", string(quoted), `"***KEY***"`},
		{"json in json", string(twice), `"\"***KEY***\""`},
		{"solidus", `sk-a\/b\"c\\dé 1`, "***KEY***"},
		{"unicode", `\u0073k-a\u002Fb\u0022c\u005cd\u00e9\u00201`, "***KEY***"},
		{"query", "?key=" + url.QueryEscape(key) + "&x=1", "?key=***KEY***&x=1"},
		{"path", "/" + url.PathEscape(key) + "/models", "/***KEY***/models"},
		{"path again", url.PathEscape(url.PathEscape(key)), "***KEY***"},
		{"lower case", strings.ToLower(url.PathEscape(key)), "***KEY***"},
		{"base64", "Basic " + base64.StdEncoding.EncodeToString([]byte(key)), "Basic ***KEY***"},
		{"base64 without padding", base64.RawURLEncoding.EncodeToString([]byte(key)) + ".", "***KEY***."},
		{"base64 in a URL", url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(key))), "***KEY***"},
		{"a part", key[:len(key)-1], key[:len(key)-1]},
	} {
		if got := one(key).Text(c.text); got != c.want {
			t.Errorf("%s: Text(%s) = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// TestBase64WithinAText checks that a secret is found in the base64 of a longer text. In that text,
// the secret may begin at any of the three bytes of a base64 group.
func TestBase64WithinAText(t *testing.T) {
	const key = "a+secret?~key"
	for before := range 4 {
		for after := range 4 {
			text := strings.Repeat("<", before) + key + strings.Repeat(">", after)
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
				if got := one(key).Text(e.EncodeToString([]byte(text))); !strings.Contains(got, "***KEY***") || len(got) > 9+4+4+4 {
					t.Errorf("Text of the base64 of %s = %s", text, got)
				}
			}
		}
	}
}

func TestOtherTextIsUnchanged(t *testing.T) {
	s := &Set{}
	s.Add("SHORT", "k")
	s.Add("FIVE", "12345")
	s.Add("BLANK", "   \n 1 \n  ")
	if !s.Empty() {
		t.Error("a value of less than six bytes counts as a secret")
	}
	if got := s.Text("Bank_pay 12345"); got != "Bank_pay 12345" {
		t.Error(got)
	}
	s.Add("SIX", " 123456\n")
	s.Add("LONGER", "123456789")
	s.Add("AGAIN", "123456")
	if got := s.Text("12345 1234567 123456789 x123456"); got != "12345 ***SIX***7 ***LONGER*** x***SIX***" {
		t.Error(got)
	}
	var none *Set
	none.Add("KEY", "123456")
	if got := none.Text("123456"); got != "123456" || none.Contains("123456") {
		t.Error(got)
	}
}

func TestHeader(t *testing.T) {
	s := &Set{}
	s.AddHeader("AUTHORIZATION", "Bearer token-one")
	s.AddHeader("PROXY", "Basic "+base64.StdEncoding.EncodeToString([]byte("me:pass word")))
	s.AddHeader("PLAIN", "secret-two")
	text := "Bearer token-one, token-one, pass word, " + base64.StdEncoding.EncodeToString([]byte("me:pass word")) + ", secret-two"
	if got := s.Text(text); got != "***AUTHORIZATION***, ***AUTHORIZATION***, ***PROXY***, ***PROXY***, ***PLAIN***" {
		t.Error(got)
	}
}

func TestIsSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "github_token": true, "DB_PASSWORD": true, "AWS_CREDENTIALS": true, "CLIENT_SECRET": true, "X_AUTH": true,
		"HOME": false, "PATH": false, "LANG": false,
	} {
		if IsSecretName(name) != want {
			t.Errorf("IsSecretName(%s) = %v", name, !want)
		}
	}
}

func TestJSON(t *testing.T) {
	s := one(`se"cr\et1`)
	s.Add("PIN", "4711471")
	for in, want := range map[string]string{
		`{"a": "x se\"cr\\et1", "b" : [1, null, "plain \n"]}`: `{"a": "x ***KEY***", "b" : [1, null, "plain \n"]}`,
		`{"se\u0022cr\\et1":4711471,"n":-1.5e3}`:              `{"***KEY***":"***PIN***","n":-1.5e3}`,
		`"{\"k\":\"se\\\"cr\\\\et1\"}"`:                       `"{\"k\":\"***KEY***\"}"`,
		`not JSON se"cr\et1`:                                  `not JSON ***KEY***`,
		`{"a":"<b>"}`:                                         `{"a":"<b>"}`,
	} {
		if got := string(s.JSON([]byte(in))); got != want {
			t.Errorf("JSON(%s) = %s, want %s", in, got, want)
		}
	}
}

// TestStreamHoldsBackOnlyPossibleSecrets checks that a stream returns a text at once unless it may
// be the start of a secret.
func TestStreamHoldsBackOnlyPossibleSecrets(t *testing.T) {
	s := one("sk-123456")
	x := s.Stream()
	var got []string
	for _, piece := range []string{"hello s", "o, s", "k-12", "3456 is s", "k-1"} {
		got = append(got, x.Next(piece))
	}
	got = append(got, x.Rest())
	if want := []string{"hello ", "so, ", "", "***KEY*** is ", "", "sk-1"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("output of the stream = %q, want %q", got, want)
	}
}

func TestWriter(t *testing.T) {
	var b strings.Builder
	w := one("sk-123456").Writer(&b)
	for _, piece := range []string{"a sk-", "123", "456 b sk", "-"} {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || b.String() != "a ***KEY*** b sk-" {
		t.Error(b.String(), err)
	}
}

// disguise encodes a text in a random way: the whole text at once, or each character by itself.
func disguise(text string, r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return text
	case 1:
		return base64.StdEncoding.EncodeToString([]byte(text))
	case 2:
		return base64.RawURLEncoding.EncodeToString([]byte(text))
	case 3:
		b, _ := json.Marshal(text)
		if utf8.ValidString(text) {
			return string(b[1 : len(b)-1])
		}
		return text
	case 4:
		return url.QueryEscape(text)
	}
	var b strings.Builder
	backslash := []string{`\`, `\\`, `\\\\`}[r.IntN(3)] // all backslashes of a text are escaped equally often
	for _, u := range units(text) {
		switch n := r.IntN(5); {
		case u.raw == `\` && n > 1:
			b.WriteString(backslash)
		case n == 0 && u.r >= 0 && u.r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, u.r)
		case n == 1:
			for i := range len(u.raw) {
				fmt.Fprintf(&b, "%%%02X", u.raw[i])
			}
		case n == 2 && strings.Contains("/\"", u.raw):
			b.WriteString(`\` + u.raw)
		case n == 2 && u.raw == "\n":
			b.WriteString(`\n`)
		default:
			b.WriteString(u.raw)
		}
	}
	return b.String()
}

// FuzzSecret checks that no secret remains in a text, in any encoding and for any split into
// pieces. A text without the secret must not change.
func FuzzSecret(f *testing.F) {
	f.Add("sk-proj/a+b=c", "the key ", " is wrong", uint64(1))
	f.Add(`\\\\"\n\u0073`, `\`, `\`, uint64(2))
	f.Add("%25%25%", "%", "25", uint64(3))
	f.Add("ééééé", "\xc3", "\xa9", uint64(4))
	f.Add("aaaaaaa", "aaa", "aaa", uint64(5))
	f.Add("\x00\xff\xfe\x00\x01\x02", "\xff", "", uint64(6))
	f.Add("𝄞𝄞𝄞", `\ud834`, `\udd1e`, uint64(7))
	f.Fuzz(func(t *testing.T, key, before, after string, seed uint64) {
		key = strings.TrimSpace(key)
		if len(key) < MinLength || len(key) > 200 || strings.Contains(key, "*") {
			return // the mark itself would contain the secret
		}
		r := rand.New(rand.NewPCG(seed, 1))
		s := one(key)
		hidden := disguise(key, r)
		text := before + hidden + after
		got := s.Text(text)
		if strings.Contains(got, hidden) || strings.Contains(got, key) {
			t.Fatalf("the secret %q in %q was not removed: %q", key, text, got)
		}
		if inPieces := cleanInPieces(s, text, r); inPieces != got {
			t.Fatalf("cleaned form of %q in pieces = %q, at once = %q", text, inPieces, got)
		}
		if utf8.ValidString(text) && utf8.ValidString(key) {
			doc, _ := json.Marshal(map[string]string{"a": text})
			clean := s.JSON(doc)
			var back map[string]string
			if err := json.Unmarshal(clean, &back); err != nil || back["a"] != got {
				t.Fatalf("JSON(%s) = %s, error %v", doc, clean, err)
			}
		}
		if plain := without(key, before+after); s.Text(plain) != plain || cleanInPieces(s, plain, r) != plain {
			t.Fatalf("%q does not contain %q, but was changed to %q", plain, key, s.Text(plain))
		}
	})
}

// cleanInPieces passes a text to a stream in random pieces.
func cleanInPieces(s *Set, text string, r *rand.Rand) string {
	var b strings.Builder
	x := s.Stream()
	for len(text) > 0 {
		n := 1 + r.IntN(min(len(text), 9))
		b.WriteString(x.Next(text[:n]))
		text = text[n:]
	}
	return b.String() + x.Rest()
}

// without returns text without the characters that may occur in key, in its base64 or in its
// escapes. The result therefore cannot contain key.
func without(key, text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < 0x80 && r != '\n' && r != '.' || strings.ContainsRune(key, r) {
			return -1
		}
		return r
	}, text)
}

// TestManyBackslashes cleans texts in which a secret seems to begin at every position. A quadratic
// search would time out.
func TestManyBackslashes(t *testing.T) {
	s := one(strings.Repeat(`\`, 100) + "x")
	s.Add("PERCENT", strings.Repeat("%25", 30)+"x")
	for _, text := range []string{strings.Repeat(`\`, 5000), strings.Repeat("%25", 3000), strings.Repeat(`\u005c`, 1000)} {
		if got := s.Text(text); got != text {
			t.Errorf("Text changed %.20s…, which contains no secret", text)
		}
	}
}

func BenchmarkText(b *testing.B) {
	s := &Set{}
	for i := range 5 {
		s.Add("KEY", fmt.Sprintf("sk-proj-%d-0123456789abcdef", i))
	}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog; a line of a log like any other, 12:34:56.\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if s.Text(text) != text {
			b.Fatal("Text changed a text without secrets")
		}
	}
}
