package link

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
)

// pack returns the fragment with the given content.
func pack(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return Prefix + base64.RawURLEncoding.EncodeToString(b.Bytes())
}

func TestRoundTrip(t *testing.T) {
	c := Content{Files: map[string]string{"main.conc": "fn main() {}\n", "a/b.txt": "\x00<&> \u2028 😀"}, Open: "a/b.txt"}
	text, err := Encode(c)
	if err != nil || !strings.HasPrefix(text, Prefix) || strings.ContainsAny(text[len(Prefix):], "+/=") {
		t.Fatalf("Encode = %q, %v", text, err)
	}
	got, err := Decode(text)
	if err != nil || got.Open != c.Open || !maps.Equal(got.Files, c.Files) {
		t.Errorf("Decode = %v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "cannot be decoded",
		"#p2=AAAA":                             "cannot be decoded",
		Prefix:                                 "cannot be decoded",
		Prefix + "%":                           "cannot be decoded",
		Prefix + "AAAA":                        "cannot be decoded",
		pack(t, "text"):                        "cannot be decoded",
		pack(t, "\"\xff\""):                    "cannot be decoded",
		pack(t, "[]"):                          "no files",
		pack(t, `{"files":{}}`):                "no files",
		pack(t, `{"files":{"/a":""}}`):         "is absolute",
		pack(t, `{"files":{"C:x":""}}`):        "is absolute",
		pack(t, `{"files":{"a/../b":""}}`):     "contains ..",
		pack(t, `{"files":{"a\u0007":""}}`):    "is no text",
		pack(t, `{"files":{"a\ud800":""}}`):    "is no text",
		pack(t, `{"files":{"a//b":""}}`):       "has an empty part",
		pack(t, `{"files":{"a":1}}`):           "which is no text",
		pack(t, `{"files":{"a":"","a/b":""}}`): "also a directory",
		pack(t, `{"files":{"a":"`+strings.Repeat("x", maxContent)+`"}}`): "larger than 1 MiB",
		Prefix + strings.Repeat("A", 8<<20):                              "larger than 1 MiB",
	} {
		if _, err := Decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.60q) = %v, want %q", text, err, want)
		}
	}
}

func TestSecret(t *testing.T) {
	for text, secret := range map[string]bool{
		"[connections.main]\nprovider = \"openai\"\napi_key_env = \"sk-proj-0123456789abcdef\"\n": true,
		"this is no TOML: sk-proj-0123456789abcdef0123456789abcdef":                               true,
		"[connections.main]\nprovider = \"openai\"\napi_key_env = \"OPENAI_API_KEY\"\n":           false,
	} {
		_, err := Encode(Content{Files: map[string]string{"p/Concerto.toml": text}})
		if errors.Is(err, ErrSecret) != secret {
			t.Errorf("Encode of %q: %v", text, err)
		}
	}
}

// FuzzDecode checks that each link that is not refused can be encoded again.
func FuzzDecode(f *testing.F) {
	f.Add(pack(f, `{"files":{"main.conc":"fn main() {}"},"open":"main.conc"}`))
	f.Add(pack(f, `{"files":{"a/b":"x"}}`))
	f.Add(pack(f, `{"files":{"../a":"x"}}`))
	f.Add(Prefix + "AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(c)
		if errors.Is(err, ErrSecret) || err != nil && strings.Contains(err.Error(), "larger") { // escaping may make it larger
			return
		}
		if err != nil {
			t.Fatalf("a decoded link cannot be encoded: %v", err)
		}
		if d, err := Decode(again); err != nil || d.Open != c.Open || !maps.Equal(d.Files, c.Files) {
			t.Errorf("the link of %v contains %v, %v", c, d, err)
		}
	})
}
