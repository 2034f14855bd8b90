package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// A manifest contains the names of the environment variables that contain secrets. A value that
// looks like a secret itself is an error, so that no secret is compiled into a program. Messages
// show asterisks instead of the secret.

// holds is the kind of text in a key's value. The kind determines how a secret in the text is
// recognized.
type holds uint8

const (
	words     holds = iota // any text; only its form shows that it is a secret
	variables              // names of environment variables
	address                // a URL
	named                  // texts with names; the form or the name shows that a text is a secret
	anything               // texts that are not checked for secrets, such as scripted replies
)

// hidden contains the secrets of a manifest.
type hidden struct {
	spans  []source.Span
	values secret.Set
}

// hideValue hides a part of the value of n in all messages.
func (r *reader) hideValue(n *node, part string) {
	span, text := n.value, r.file.Slice(n.value)
	if i := strings.Index(text, part); i >= 0 && part != "" {
		span.Start += source.Pos(i)
		span.End = span.Start + source.Pos(len(part))
	} else if len(text) > 2 { // the part contains escape sequences
		span.Start, span.End = span.Start+1, span.End-1
	}
	r.hidden.spans = append(r.hidden.spans, span)
	r.hidden.values.Add(n.name, part)
}

// secrets reports secrets in the value of a key. It returns false if there are none.
func (r *reader) secrets(k *Key, n *node, v any, shown string) bool {
	before := r.list.Errors()
	texts(n, v, shown, func(n *node, text, shown string) {
		switch {
		case k.holds == variables && isProbableKey(text):
			r.reportSecret(n, text, "`%s` must be the name of an environment variable, but this looks like a secret", shown).
				Hint("put the secret into an environment variable, and use its name: `%s = %s`", k.Name(), k.Example)
		case k.holds == address && credentials(text) != "":
			r.reportSecret(n, credentials(text), "the URL `%s` contains a secret", shown).Hint("%s", k.secretAdvice("Authorization"))
		case k.holds != anything && secret.IsToken(text), k.holds == named && isSecretName(n.name) && isValue(text):
			r.reportSecret(n, text, "`%s` contains a secret", shown).Hint("%s", k.secretAdvice(n.name))
		}
	})
	return r.list.Errors() > before
}

// reportSecret reports a secret, which is a part of the value of n, and hides it in messages.
func (r *reader) reportSecret(n *node, part, format string, args ...any) *diag.Diagnostic {
	r.hideValue(n, part)
	d := diag.ManifestSecret.At(n.value, "%s", fmt.Sprintf(format, args...))
	r.add(d)
	return d
}

// texts calls do for each text in a value, including the texts in tables and arrays.
func texts(n *node, v any, shown string, do func(n *node, text, shown string)) {
	switch v := v.(type) {
	case string:
		do(n, v, shown)
	case map[string]any:
		for _, c := range n.children {
			texts(c, v[c.name], shown+"."+c.name, do)
		}
	case []any:
		for i, c := range n.children {
			texts(c, v[i], shown, do)
		}
	}
}

// secretAdvice returns the hint that shows what replaces a secret with the given name.
func (k *Key) secretAdvice(name string) string {
	section, instead := k.Section(), k.instead
	if instead == "" {
		instead = map[string]string{"connections.*": "api_key_env", "hosts.*": "pass_env", "mcp.*": "pass_env"}[section]
	}
	const put = "put it into an environment variable"
	row := row(section + "." + instead)
	switch {
	case row == nil && instead == "pass_env":
		return put + " where concerto starts: the process inherits it"
	case row == nil:
		return put + ", which the program reads with `env(\"NAME\")`"
	case row.Type == Table:
		return put + " and use its name: `" + fmt.Sprintf("%s = { %s = \"VARIABLE\" }", instead, name) + "`"
	case row.Type == Strings && name == "": // an argument
		return put + " where concerto starts, pass it on (`" + instead + " = " + row.Example + "`), and read it in the process"
	case row.Type == Strings:
		return put + " where concerto starts, and pass it on: `" + fmt.Sprintf("%s = [%q]", instead, name) + "`"
	}
	return put + " and use its name: `" + instead + " = " + row.Example + "`"
}

// isProbableKey reports whether a text that should be the name of an environment variable looks
// like the value of one.
func isProbableKey(text string) bool {
	has := func(is func(rune) bool) bool { return strings.ContainsFunc(text, is) }
	random := len(text) >= 20 && has(unicode.IsDigit) && has(unicode.IsLower) && !has(unicode.IsSpace) && !strings.Contains(text, "_")
	return random || secret.IsToken(text)
}

// credentials returns the secret part of an address: the user and the password, a parameter whose
// name is that of a secret, or a part that has the form of a secret.
func credentials(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	authority, _, _ := strings.Cut(rest, "/")
	authority, _, _ = strings.Cut(authority, "?")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		return authority[:at]
	}
	_, query, _ := strings.Cut(rest, "?")
	query, _, _ = strings.Cut(query, "#")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); isValue(value) && (isSecretName(name) || slices.Contains([]string{"key", "sig", "auth"}, name)) {
			return value
		}
	}
	if at := secret.Tokens(address); at != nil {
		return address[at[0][0]:at[0][1]]
	}
	return ""
}

// secretWords contains the words with which the name of a secret may end.
var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "credential", "credentials", "authorization", "cookie",
	"api key", "access key", "private key", "secret key"}

// isSecretName reports whether the last words of a name are those of a secret: API_KEY, accessToken
// and X-Api-Key are such names, max_tokens is not.
func isSecretName(name string) bool {
	var b strings.Builder
	lower := false
	for _, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = ' '
		case lower && unicode.IsUpper(c):
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(c)
		b.WriteRune(unicode.ToLower(c))
	}
	words := " " + strings.TrimSpace(b.String())
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.HasSuffix(words, " "+w) })
}

// isValue reports whether a text may be the value of a secret: it is long enough, and it is neither
// a path nor a reference to the value.
func isValue(text string) bool {
	return len(text) >= secret.MinLength && !strings.ContainsAny(text[:1], "/.~$%<{")
}

// mayBeSecret reports whether the value of an unknown key may be a secret. The name of an
// environment variable is no secret.
func mayBeSecret(text string) bool { return isValue(text) && strings.ToUpper(text) != text }

// unquoted matches the value after the name of a secret in a text that is not TOML.
var unquoted = `(?im)^\s*"?[\w.-]*(?:key|token|secret|pass|auth|credential)[\w.-]*"?\s*=\s*["']?([^"'\s#]{6,})`

// finish returns the diagnostics and sets the text of the manifest. Neither contains the secrets.
func (r *reader) finish() diag.List {
	text := r.file.String()
	for _, at := range secret.Tokens(text) {
		r.hideText(at[0], at[1])
	}
	if r.m == nil || !r.read {
		for _, at := range regexp.MustCompile(unquoted).FindAllStringSubmatchIndex(text, -1) {
			if mayBeSecret(text[at[2]:at[3]]) {
				r.hideText(at[2], at[3])
			}
		}
	}
	if len(r.hidden.spans) == 0 {
		return r.list
	}
	file := r.file.Masked(r.hidden.spans)
	r.m.File = file
	var out diag.List
	for _, d := range r.list.Sorted() {
		d.Message = r.hidden.values.Text(d.Message)
		for i := range d.Hints {
			d.Hints[i] = r.hidden.values.Text(d.Hints[i])
		}
		for i := range d.Labels {
			d.Labels[i].Text = r.hidden.values.Text(d.Labels[i].Text)
		}
		out.Add(d.In(file))
	}
	return out
}

func (r *reader) hideText(from, to int) {
	r.hidden.spans = append(r.hidden.spans, source.Span{Start: source.Pos(from), End: source.Pos(to)})
	r.hidden.values.Add("secret", r.file.String()[from:to])
}
