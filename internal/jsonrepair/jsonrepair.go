// Package jsonrepair finds the JSON in a model's text and mends what models
// get wrong: fences and prose around it, trailing or missing commas, comments,
// single or curly quotes, bare keys and words, Python's literals, raw control
// characters, and closers that a cut-off answer lacks.
//
// It never invents a value: a text without an object, an array or a whole JSON
// value in it is an error. Its time is linear in the text.
package jsonrepair

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	library "github.com/kaptinlin/jsonrepair"
)

// ErrNone says that a text holds no JSON, nor anything that can be mended into
// some.
var ErrNone = errors.New("the text holds no JSON")

// maxLibrary is the longest candidate, in bytes, that is given to the library:
// it needs quadratic time on some texts.
const maxLibrary = 16 << 10

// maxDepth bounds the nesting of what is mended.
const maxDepth = 500

// Extract gives the JSON value that text means: the whole text when that is
// JSON, else the longest object or array in it (or what stands in a fence) that
// is JSON, else the longest that can be mended. The error is ErrNone.
func Extract(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	candidates := candidates(text)
	for _, c := range candidates {
		if json.Valid([]byte(c)) {
			return json.RawMessage(c), nil
		}
	}
	for _, c := range candidates {
		if out, ok := mend(c); ok {
			return out, nil
		}
	}
	return nil, ErrNone
}

// mend repairs a candidate, by our reader or, for what that refuses and is
// short, by the library, which guesses more.
func mend(c string) (json.RawMessage, bool) {
	if !strings.HasPrefix(c, "{") && !strings.HasPrefix(c, "[") {
		return nil, false
	}
	if out, ok := repair(c); ok {
		return out, true
	}
	if len(c) > maxLibrary || strings.Count(c, "{")+strings.Count(c, "[") > maxDepth {
		return nil, false
	}
	fixed, err := library.Repair(c)
	fixed = strings.TrimSpace(fixed)
	if err != nil || !json.Valid([]byte(fixed)) || (fixed[0] != '{' && fixed[0] != '[') {
		return nil, false
	}
	return json.RawMessage(fixed), true
}

// candidates are the stretches of text that may be JSON: the fences' insides
// and the bracketed stretches, the longest first.
func candidates(text string) []string {
	out := append(fences(text), brackets(text)...)
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// fences are the insides of ``` blocks. One that does not end goes to the end
// of the text.
func fences(text string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, "```")
		if !ok {
			return out
		}
		inside, after, _ := strings.Cut(rest, "```")
		// The first line holds the language, if anything.
		if lang, tail, ok := strings.Cut(inside, "\n"); ok && !strings.ContainsAny(lang, "{[\"") {
			inside = tail
		}
		if inside = strings.TrimSpace(inside); inside != "" {
			out = append(out, inside)
		}
		text = after
	}
}

// brackets are the outermost objects and arrays. The last one may lack its
// closers.
func brackets(text string) []string {
	var out []string
	start := -1
	var stack []byte
	var quoted bool
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case start < 0:
			if (c == '{' || c == '[') && begins(text[i:]) {
				start, stack = i, append(stack[:0], c+2)
			}
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			stack = append(stack, c+2) // in ASCII, each closer is its opener plus 2
		case c == '}' || c == ']':
			if stack[len(stack)-1] == c {
				stack = stack[:len(stack)-1]
			}
			if len(stack) == 0 {
				out = append(out, text[start:i+1])
				start = -1
			}
		}
	}
	if start >= 0 {
		out = append(out, text[start:])
	}
	return out
}

// begins says whether a bracket in prose looks like the start of JSON and not
// of a remark.
func begins(text string) bool {
	rest := strings.TrimLeft(text[1:min(len(text), 64)], " \t\r\n")
	if rest == "" {
		return len(text) < 64
	}
	if text[0] == '{' {
		if strings.IndexByte("}\"'`/#", rest[0]) >= 0 || strings.HasPrefix(rest, "“") {
			return true
		}
		word := wordLength(rest)
		return word > 0 && strings.HasPrefix(strings.TrimLeft(rest[word:], " \t"), ":")
	}
	if strings.IndexByte("]{[\"'`/#-+.0123456789", rest[0]) >= 0 || strings.HasPrefix(rest, "“") {
		return true
	}
	_, known := words[rest[:wordLength(rest)]]
	return known
}

// wordLength is the length of the bare word that s starts with.
func wordLength(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return i
		}
	}
	return len(s)
}

// words are the literals of JSON, JavaScript and Python. JSON has no infinity
// and no NaN.
var words = map[string]string{
	"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null",
	"undefined": "null", "NaN": "null", "Infinity": "null", "nil": "null", "TRUE": "true", "FALSE": "false", "NULL": "null",
}

// compact is valid JSON, or nothing when b is none: the last check on what was
// mended.
func compact(b []byte) (json.RawMessage, bool) {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return nil, false
	}
	return out.Bytes(), true
}
