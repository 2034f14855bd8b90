// Package redact removes secrets from the texts that a machine sends (spec/24-relay.md). Rules
// defines which texts are removed in which places. Package internal/data/secret defines the forms
// of tokens and the set of known secrets.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Mark replaces a secret. If the secret is the value of a known variable, the variable's name
// replaces it instead.
const Mark = protocol.Redacted

// Rule describes how one kind of secret is removed.
type Rule struct {
	Name string // name of the rule in the manual
	// Request describes what the rule removes from requests, which a user reads before deciding; ""
	// means nothing.
	Request string
	// Output describes what the rule removes from commands, inputs, results and logs.
	Output string

	request, output func(r *Redactor, text string) string
}

// Rules lists the rules in the order of application. The manual shows them as a table.
var Rules = []Rule{
	{"a known secret: the value of a variable of hostd's environment whose name contains `KEY`, `TOKEN`, `SECRET`, `PASS`, `CREDENTIAL` or `AUTH`", "all", "all", redactSecrets, redactSecrets},
	{"a token that is recognised by its form", "the forms of the list below", "also shortened tokens and certificates", redactTokens, redactShortened},
	{"the value of an `Authorization` header", "a literal", "all", redactLiteral(header, 1), header.cut},
	{"the value after a name with `password`, `token`, `secret` or `api_key`", "a literal of at least 6 characters, and a text that is a member of the arguments", "all", redactLiteral(keyed, secret.MinLength), keyed.cut},
	{"random-looking text: at least 32 characters of `[A-Za-z0-9+=_]`, upper and lower case and digits, an entropy over 3.5 bits a character, almost no `/`, `.` or `-`, and not the name of a file", "", "all", nil, redactRandom},
	{"matches of `$REDACTION_EXTRA_REGEX`", "all", "all", redactExtra, redactExtra},
}

const (
	// names matches names that suggest a secret value.
	names = `(?:api[_-]?key|token|password|passwd|secret)`

	// value matches the value that follows a name.
	value = `(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;&|]+)`
)

// named consists of expressions whose groups match values after names.
type named []*regexp.Regexp

var (
	header = named{regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*((?:(?:bearer|basic|token)\s+)?` + value + `)`)}
	keyed  = named{
		regexp.MustCompile(`(?i)[A-Za-z0-9_.-]*` + names + `[A-Za-z0-9_-]*["']?\s*[:=]\s*((?:(?:bearer|basic|token)\s+)?` + value + `)`),
		regexp.MustCompile(`(?i)(?:^|\s)-{1,2}[A-Za-z0-9_.-]*` + names + `[A-Za-z0-9_-]*\s+(` + value + `)`),
	}
	form   = regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{6,}|(?:ghp_|gho_|github_pat_)[A-Za-z0-9_]{4,}|AKIA[0-9A-Z]{4,}|xox[a-z]-[A-Za-z0-9-]{4,}|Bearer +[^\s"',;]+)|(?s:-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z))`)
	member = regexp.MustCompile(`(?i)(?:` + names + `|authorization)$`)
	chance = regexp.MustCompile(`[A-Za-z0-9+=_/.-]{32,}`)

	// literal matches a value that a shell uses literally, with or without quotes. It does not
	// match paths and flags, which users must see even after a suspicious name.
	literal = regexp.MustCompile("^(?i:(?:bearer|basic|token)[ \\t]+)?[\"']?[A-Za-z0-9_+=%@:!#^*?,][^\\s\"'`$()<>{};&|\\\\]*[\"']?$")
)

// Redactor removes secrets. It is safe for concurrent use.
type Redactor struct {
	extra   *regexp.Regexp
	secrets *secret.Set
	dir     string // directory to which file names in a text may be relative
}

// New returns a Redactor. It also removes the matches of the regular expression extra, unless extra
// is "". environ contains variables in the form "NAME=value"; the values of variables whose names
// suggest a secret are removed too.
func New(extra string, environ []string) (*Redactor, error) {
	r := &Redactor{secrets: &secret.Set{}}
	for _, v := range environ {
		// A path is not a secret, even if the variable's name suggests one, such as SSH_AUTH_SOCK.
		if _, value, _ := strings.Cut(v, "="); !strings.HasPrefix(value, "/") {
			r.secrets.AddFromEnviron([]string{v})
		}
	}
	if extra == "" {
		return r, nil
	}
	re, err := regexp.Compile(extra)
	if err != nil {
		return nil, fmt.Errorf("REDACTION_EXTRA_REGEX: %w", err)
	}
	r.extra = re
	return r, nil
}

// Add adds a known secret. Its name replaces it in texts.
func (r *Redactor) Add(name, value string) { r.secrets.Add(name, value) }

// In returns a redactor for texts that refer to a directory. Names of files in that directory are
// not secrets.
func (r *Redactor) In(dir string) *Redactor { return &Redactor{r.extra, r.secrets, dir} }

// Text removes secrets from a text for events and logs.
func (r *Redactor) Text(text string) string {
	for i := range Rules {
		text = Rules[i].output(r, text)
	}
	return text
}

// RequestText removes secrets from a text for requests. Words that look random remain, because they
// may be paths, branches or hashes.
func (r *Redactor) RequestText(text string) string {
	for i := range Rules {
		if Rules[i].request != nil {
			text = Rules[i].request(r, text)
		}
	}
	return text
}

// Request removes secrets from all parts of a request, and sets Redacted if there are any. It does
// not change the arguments that are named in plain.
func (r *Redactor) Request(q *protocol.PermissionRequested, plain ...string) {
	q.Prompt, q.OpArgsSummary = r.redactNoting(q, q.Prompt), r.redactNoting(q, q.OpArgsSummary)
	at := headerLen(q.Diff)
	q.Diff = q.Diff[:at] + r.redactNoting(q, q.Diff[at:])
	if len(q.OpArgs) > 0 {
		clean := r.JSON(q.OpArgs, plain...)
		q.Redacted = q.Redacted || secret.HasMark(string(q.OpArgs)) || !sameJSON(clean, q.OpArgs)
		q.OpArgs = clean
	}
	q.Questions = slices.Clone(q.Questions)
	for i := range q.Questions {
		q.Questions[i].Question = r.redactNoting(q, q.Questions[i].Question)
	}
}

// headerLen returns the length of the first two lines of a diff, which contain the name of the
// file.
func headerLen(diff string) (n int) {
	for _, head := range []string{"--- ", "+++ "} {
		if !strings.HasPrefix(diff[n:], head) {
			return n
		}
		n += strings.IndexByte(diff[n:]+"\n", '\n') + 1
	}
	return min(n, len(diff))
}

func (r *Redactor) redactNoting(q *protocol.PermissionRequested, text string) string {
	clean := r.RequestText(text)
	q.Redacted = q.Redacted || clean != text || secret.HasMark(text)
	return clean
}

func sameJSON(a, b json.RawMessage) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && bytes.Equal(jsonwrite.MustEncode(x), jsonwrite.MustEncode(y))
}

func redactSecrets(r *Redactor, text string) string { return r.secrets.Text(text) }

func redactTokens(_ *Redactor, text string) string { return secret.WithoutTokens(text, Mark) }

// redactShortened removes tokens, including tokens in shortened form.
func redactShortened(r *Redactor, text string) string {
	text = redactTokens(r, text)
	return maskParts(text, form.FindAllStringIndex(text, -1))
}

func (n named) cut(_ *Redactor, text string) string {
	return n.replaceIf(text, func(string) bool { return true })
}

// redactLiteral returns a function that removes values which match literal and have at least the
// given length.
func redactLiteral(n named, least int) func(*Redactor, string) string {
	return func(_ *Redactor, text string) string {
		return n.replaceIf(text, func(v string) bool {
			return literal.MatchString(v) && len(strings.Trim(v, `"'`)) >= least
		})
	}
}

func (n named) replaceIf(text string, is func(value string) bool) string {
	for _, re := range n {
		var all [][]int
		for from := 0; ; {
			m := re.FindStringSubmatchIndex(text[from:])
			if m == nil {
				break
			}
			begin, end := from+m[2], from+m[3]
			if from = end; closesQuote(text, begin) {
				from = begin + 1 // the name is at the end of a quoted text, which has no value
			} else if is(text[begin:end]) {
				all = append(all, []int{begin, end})
			}
		}
		text = maskParts(text, all)
	}
	return text
}

// closesQuote reports whether the quote at an offset ends a quoted text that begins before it, as
// in `printf 'Password: '; read p`. The text up to the next quote is then not a value.
func closesQuote(text string, at int) bool {
	if c := text[at]; c != '\'' && c != '"' || at+1 == len(text) {
		return false
	}
	return strings.Count(text[:at], text[at:at+1])%2 == 1 && strings.IndexByte(" \t\n;&|)>", text[at+1]) >= 0
}

func redactRandom(r *Redactor, text string) string {
	return maskParts(text, slices.DeleteFunc(chance.FindAllStringIndex(text, -1), func(at []int) bool {
		return !r.isRandom(text[at[0]:at[1]])
	}))
}

// isRandom reports whether a word looks random, that is, whether it is no path, hash, file name or
// sequence of words.
func (r *Redactor) isRandom(word string) bool {
	has := func(from, to byte) bool {
		return strings.ContainsFunc(word, func(c rune) bool { return rune(from) <= c && c <= rune(to) })
	}
	if strings.ContainsAny(word, "/.-") || !has('a', 'z') || !has('A', 'Z') || !has('0', '9') || entropy(word) <= 3.5 {
		return false
	}
	_, err := os.Lstat(filepath.Join(r.dir, word))
	return err != nil
}

func redactExtra(r *Redactor, text string) string {
	if r.extra == nil {
		return text
	}
	return maskParts(text, r.extra.FindAllStringIndex(text, -1))
}

// maskParts replaces parts of a text with Mark. The parts must be in order.
func maskParts(text string, parts [][]int) string {
	if len(parts) == 0 {
		return text
	}
	var b strings.Builder
	last := 0
	for _, at := range parts {
		if at[0] < last || at[0] == at[1] {
			continue
		}
		b.WriteString(text[last:at[0]])
		b.WriteString(Mark)
		last = at[1]
	}
	b.WriteString(text[last:])
	return b.String()
}

// entropy returns the average number of bits of information per character.
func entropy(text string) float64 {
	var count [256]float64
	for i := range len(text) {
		count[text[i]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			bits -= n / float64(len(text)) * math.Log2(n/float64(len(text)))
		}
	}
	return bits
}

// JSON removes secrets from the strings in a JSON value of a request. It replaces a string
// completely if the name of its member suggests a secret. It does not change members that are named
// in plain. It returns Mark for invalid JSON, and an empty v unchanged.
func (r *Redactor) JSON(v json.RawMessage, plain ...string) json.RawMessage {
	if len(v) == 0 {
		return v
	}
	value, err := decode(v)
	if err != nil {
		return json.RawMessage(`"` + Mark + `"`)
	}
	object, _ := value.(map[string]any)
	rest := map[string]any{}
	for _, name := range plain {
		if v, has := object[name]; has {
			rest[name] = v
			delete(object, name)
		}
	}
	value = r.value(value)
	maps.Copy(object, rest)
	return jsonwrite.MustEncode(value)
}

func decode(v json.RawMessage) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	return value, d.Decode(&value)
}

func (r *Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.RequestText(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	case map[string]any:
		for k := range v {
			if text, is := v[k].(string); is && text != "" && member.MatchString(k) {
				v[k] = Mark
				continue
			}
			v[k] = r.value(v[k])
		}
	}
	return v
}
