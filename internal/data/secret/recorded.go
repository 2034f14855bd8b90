package secret

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Redacted replaces a secret in a record that is recognised only by its form.
const Redacted = "«redacted»"

// The parts of a mark, which is «secret:NAME». In other text, each « is doubled. So a mark follows
// an odd number of «.
const (
	quote     = "«"
	markWord  = "secret:"
	markQuote = "»"
)

// The bytes around a future mark while Text works. No valid text contains these bytes.
const (
	opens  = "\xff"
	closes = "\xfe"
)

// Record replaces the secrets of a run, including later ones, in data that is stored and decoded
// again. Each secret is replaced by a mark such as «secret:NAME», or «secret:NAME:url» for another
// encoding, from which Restore restores the exact bytes. A secret is found if it occurs completely
// in one of the known encodings. A Record is safe for concurrent use.
type Record struct {
	mu     sync.Mutex // guards the fields while a secret is added
	marks  map[string]string
	texts  [][]byte // the keys of marks, longest first
	plain  bool     // no key of marks contains a character that JSON escapes
	all    *strings.Replacer
	split  *encodings // nil until it is used
	forms  bool       // also replace secrets that are recognised by their form
	redact []*regexp.Regexp
}

func newRecord() *Record {
	return &Record{marks: map[string]string{}, plain: true, all: strings.NewReplacer()}
}

// ForJournal returns a Record for a journal. It replaces the secrets in s by marks that can be
// restored.
func (s *Set) ForJournal() *Record {
	r := newRecord()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.secrets {
		r.add(k)
	}
	s.records = append(s.records, r)
	return r
}

// ForTapes returns a Record for tapes and ledgers. In addition, it replaces secrets that are
// recognised by their form (see Tokens), header values with credentials, and matches of redact.
// These are replaced by Redacted and cannot be restored.
func (s *Set) ForTapes(redact ...*regexp.Regexp) *Record {
	r := s.ForJournal()
	r.forms, r.redact = true, redact
	return r
}

// add adds all encodings of a secret.
func (r *Record) add(k knownSecret) {
	name := k.name
	if k.part != "" {
		name += ":" + k.part
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addMark(k.value, name)
	for _, w := range writings {
		r.addMark(w.write(k.value), name+":"+w.name)
	}
	r.rebuild()
}

// Missing adds a variable whose value is unknown, so that its mark remains a mark.
func (r *Record) Missing(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addMark(quote+markWord+name+markQuote, name)
	for _, w := range slices.Concat(writings, parts) {
		r.addMark(quote+markWord+name+":"+w.name+markQuote, name+":"+w.name)
	}
	r.rebuild()
}

func (r *Record) addMark(text, name string) {
	if _, exists := r.marks[text]; !exists {
		r.marks[text] = opens + name + closes
	}
}

// rebuild creates the replacer. If several encodings match at one position, the longest is used.
func (r *Record) rebuild() {
	r.texts = make([][]byte, 0, len(r.marks)) // isClean may still use the previous slice
	for text := range r.marks {
		r.texts = append(r.texts, []byte(text))
	}
	slices.SortFunc(r.texts, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	r.plain = !slices.ContainsFunc(r.texts, func(text []byte) bool { return bytes.ContainsFunc(text, isEscaped) })
	var pairs []string
	for _, text := range r.texts {
		pairs = append(pairs, string(text), r.marks[string(text)])
	}
	r.all, r.split = strings.NewReplacer(pairs...), nil
}

// Text replaces the secrets in a text by marks.
func (r *Record) Text(text string) string {
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	text = quoteMarks(all.Replace(strings.ToValidUTF8(text, "\uFFFD")))
	if !r.forms {
		return text
	}
	text = withoutHeaders(WithoutTokens(text, Redacted))
	for _, re := range r.redact {
		text = re.ReplaceAllLiteralString(text, Redacted)
	}
	return text
}

// isEscaped reports whether JSON requires an escape for a character.
func isEscaped(c rune) bool { return c < ' ' || c == '"' || c == '\\' }

// isClean reports whether Text and JSON certainly return the text unchanged. Most texts of a run
// contain no secret, so searches over the whole text decide. They find a secret in the decoded
// strings, too, because the text has only escapes of characters that no secret contains.
func (r *Record) isClean(text []byte) bool {
	r.mu.Lock()
	texts, plain := r.texts, r.plain
	r.mu.Unlock()
	if !hasOnlyShortEscapes(text, plain) || bytes.Contains(text, []byte(quote+markWord)) || !utf8.Valid(text) {
		return false
	}
	for _, secret := range texts {
		if bytes.Contains(text, secret) {
			return false
		}
	}
	return !r.forms || len(r.redact) == 0 && !beginsToken(string(text)) && !namesHeader(text)
}

// hasOnlyShortEscapes reports whether each backslash in a text begins one of the short escapes of
// JSON for a character that must be escaped. If allowed is false, it reports whether the text has
// no backslash.
func hasOnlyShortEscapes(text []byte, allowed bool) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return true
		}
		if !allowed || at+1 == len(text) || !bytes.ContainsRune([]byte(`"\bfnrt`), rune(text[at+1])) {
			return false
		}
		text = text[at+2:]
	}
}

// namesHeader reports whether a text contains the name of a header field with credentials.
func namesHeader(text []byte) bool {
	for i, c := range text {
		for _, name := range headerNames {
			if c|0x20 == name[0] && len(text)-i >= len(name) && bytes.EqualFold(text[i:i+len(name)], []byte(name)) {
				return true
			}
		}
	}
	return false
}

// JSON replaces the secrets in a JSON text by marks. Numbers are unchanged.
func (r *Record) JSON(text []byte) []byte {
	if r.isClean(text) {
		return text
	}
	return r.searchJSON(text)
}

// searchJSON is JSON for a text that may contain a secret.
func (r *Record) searchJSON(text []byte) []byte {
	if !json.Valid(text) {
		return []byte(r.Text(string(text)))
	}
	if r.forms {
		text = []byte(withoutHeaders(string(text)))
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := scalarLength(text)
		switch {
		case n == 0:
			out, text = append(out, text[0]), text[1:]
			continue
		case text[0] == '"':
			out = append(out, cleanString(text[:n], r.Text)...)
		default:
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// Restore replaces marks in a text by the secrets. value returns the value of a variable. A mark
// whose variable has no value remains.
func Restore(text string, value func(name string) (string, bool)) string {
	return restore(text, value, func(v string) string { return v })
}

// RestoreJSON is like Restore for a JSON text.
func RestoreJSON(text []byte, value func(name string) (string, bool)) []byte {
	if !bytes.Contains(text, []byte(quote)) {
		return text
	}
	return []byte(restore(string(text), value, func(v string) string { return inJSON(v, false) }))
}

func restore(text string, value func(name string) (string, bool), within func(string) string) string {
	var b strings.Builder
	for at := strings.Index(text, quote); at >= 0; at = strings.Index(text, quote) {
		b.WriteString(text[:at])
		n, rest := countQuotes(text[at:])
		inner, isMark := strings.CutPrefix(rest, markWord)
		text = rest
		if !isMark {
			b.WriteString(strings.Repeat(quote, n))
			continue
		}
		b.WriteString(strings.Repeat(quote, n/2))
		if n%2 == 0 {
			continue
		}
		name, after, whole := strings.Cut(inner, markQuote)
		if v, ok := decodeMark(name, value); whole && ok {
			b.WriteString(within(v))
			text = after
		} else {
			b.WriteString(quote)
		}
	}
	return b.String() + text
}

// countQuotes returns the number of « at the start of a text, and the rest of the text.
func countQuotes(text string) (n int, rest string) {
	for rest = text; strings.HasPrefix(rest, quote); rest = rest[len(quote):] {
		n++
	}
	return n, rest
}

// quoteMarks adds quotes to the marks of a text, and doubles each « that could be read as part of a
// mark.
func quoteMarks(text string) string {
	if !strings.Contains(text, opens) && !strings.Contains(text, quote+markWord) {
		return text
	}
	var b strings.Builder
	for text != "" {
		n, rest := countQuotes(text)
		if name, after, ok := strings.Cut(strings.TrimPrefix(rest, opens), closes); ok && strings.HasPrefix(rest, opens) {
			b.WriteString(strings.Repeat(quote, 2*n) + quote + markWord + name + markQuote)
			text = after
			continue
		}
		if strings.HasPrefix(rest, markWord) {
			n *= 2
		}
		b.WriteString(strings.Repeat(quote, n))
		next := indexOf(rest)
		if next < 0 {
			next = len(rest)
		}
		b.WriteString(rest[:next])
		text = rest[next:]
	}
	return b.String()
}

// indexOf returns the offset of the next « or mark, or -1.
func indexOf(text string) int {
	a, b := strings.Index(text, quote), strings.Index(text, opens)
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// decodeMark returns the text that a mark replaces.
func decodeMark(mark string, value func(name string) (string, bool)) (string, bool) {
	name, ways, _ := strings.Cut(mark, ":")
	v, ok := value(name)
	for ways != "" && ok {
		var way string
		way, ways, _ = strings.Cut(ways, ":")
		write, ok := wayNamed(way)
		if ok {
			v = write(v)
		} else if v, ok = part(way, v); !ok {
			return "", false
		}
	}
	return v, ok
}

// Patterns for header fields with credentials: a name next to its value, and members of `headers`.
const (
	jsonString = `"(?:[^"\\]|\\.)*"`
	headerName = `"(?i:` + authorization + `|` + cookie + `|` + apiKey + `)"`
)

// Names of header fields with credentials.
const authorization, cookie, apiKey = "authorization", "cookie", "x-api-key"

var headerNames = []string{authorization, cookie, apiKey}

var (
	pairs = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`("name"\s*:\s*` + headerName + `\s*,\s*"value"\s*:\s*)` + jsonString)
	})
	headerTables = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"headers"\s*:\s*\{(?:[^{}"]|` + jsonString + `)*\}`) })
	headerValues = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(` + headerName + `\s*:\s*)` + jsonString) })
)

// withoutHeaders removes the values of such header fields from JSON.
func withoutHeaders(text string) string {
	const instead = `${1}"` + Redacted + `"`
	if strings.Contains(text, `"value"`) {
		text = pairs().ReplaceAllString(text, instead)
	}
	if strings.Contains(text, `"headers"`) {
		text = headerTables().ReplaceAllStringFunc(text, func(table string) string { return headerValues().ReplaceAllString(table, instead) })
	}
	return text
}
