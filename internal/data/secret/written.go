package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// writing is an encoding of a secret or of a part of it. The mark of a Record contains its name, so
// that the exact bytes can be restored.
type writing struct {
	name  string // follows the name of the variable and a colon
	write func(value string) string
}

// writings contains the encodings. If two produce the same text, the first is used.
var writings = []writing{
	{"url", url.QueryEscape},
	{"base64", inBase64(base64.StdEncoding)},
	{"path", url.PathEscape},
	{"component", component},
	{"lower", func(v string) string { return lowerHex(url.QueryEscape(v)) }},
	{"base64url", inBase64(base64.URLEncoding)},
	{"rawbase64", inBase64(base64.RawStdEncoding)},
	{"rawbase64url", inBase64(base64.RawURLEncoding)},
	{"json", func(v string) string { return inJSON(v, false) }},
	{"ascii", ascii},
	{"html", func(v string) string { return inJSON(v, true) }},
	{"json2", func(v string) string { return inJSON(inJSON(v, false), false) }},
	{"ascii2", func(v string) string { return ascii(ascii(v)) }},
	{"uri", func(v string) string { return strings.ReplaceAll(url.PathEscape(v), "%2F", "/") }},
	{"base64at0", within(0, base64.StdEncoding)},
	{"base64at1", within(1, base64.StdEncoding)},
	{"base64at2", within(2, base64.StdEncoding)},
	{"base64urlat0", within(0, base64.URLEncoding)},
	{"base64urlat1", within(1, base64.URLEncoding)},
	{"base64urlat2", within(2, base64.URLEncoding)},
	{"shell", func(v string) string { return strings.ReplaceAll(v, "'", shellQuotes[0]) }},
	{"shell2", func(v string) string { return strings.ReplaceAll(v, "'", shellQuotes[1]) }},
	{"backslash", func(v string) string { return unsafeInShell().ReplaceAllString(v, `\$0`) }},
}

// unsafeInShell matches the characters that a shell does not read literally.
var unsafeInShell = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\pL\pN_@%+=:,./-]`) })

// within returns the encoding of a secret inside the base64 of a longer text. before is the number
// of bytes before the secret in its first group of three.
func within(before int, e *base64.Encoding) func(string) string {
	return func(v string) string {
		text := e.EncodeToString([]byte("\x00\x00"[:before] + v))
		return text[(8*before+5)/6 : 8*(before+len(v))/6]
	}
}

func inBase64(e *base64.Encoding) func(string) string {
	return func(v string) string { return e.EncodeToString([]byte(v)) }
}

// parts contains the parts of a header value that are secrets too.
var parts = []writing{
	{"credentials", credentialsOf},
	{"password", passwordOf},
}

// credentialsOf returns the text after the scheme, or "".
func credentialsOf(header string) string {
	_, credentials, _ := strings.Cut(strings.TrimSpace(header), " ")
	return strings.TrimSpace(credentials)
}

// passwordOf returns the password of "Basic …", or "".
func passwordOf(header string) string {
	scheme, _, _ := strings.Cut(strings.TrimSpace(header), " ")
	pair, err := base64.StdEncoding.DecodeString(credentialsOf(header))
	if err != nil || !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	_, password, _ := strings.Cut(string(pair), ":")
	return password
}

// component encodes a text like JavaScript's encodeURIComponent.
func component(text string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(text))
}

func lowerHex(text string) string {
	return regexp.MustCompile(`%[0-9A-F]{2}`).ReplaceAllStringFunc(text, strings.ToLower)
}

// inJSON returns the content of a JSON string for a text. html means that HTML characters are
// escaped.
func inJSON(text string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(text) // a text can always be encoded
	return b.String()[1 : b.Len()-2]
}

// ascii is like inJSON, and also escapes all characters that are not ASCII.
func ascii(text string) string {
	var b strings.Builder
	for _, c := range inJSON(text, false) {
		switch {
		case c < 0x80:
			b.WriteRune(c)
		case c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// wayNamed returns the encoding with a name.
func wayNamed(name string) (func(string) string, bool) {
	for _, table := range [][]writing{writings, parts} {
		for _, w := range table {
			if w.name == name {
				return w.write, true
			}
		}
	}
	return nil, false
}
