package yamlcore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"go.yaml.in/yaml/v4"
)

// Source returns a text in a form that the YAML library reads: without a byte order mark, with the
// version that the library knows, and with one escape in place of two that are a surrogate pair, as
// JSON writes characters beyond U+FFFF.
func Source(text string) string {
	text = withKnownVersion(strings.TrimPrefix(text, "\ufeff"))
	if !pair().MatchString(text) {
		return text
	}
	if json.Valid([]byte(text)) {
		return withoutPairs(text)
	}
	return withoutPairsInQuotes(text)
}

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^%YAML[ \t]+1\.[02-9][ \t]*(#.*)?\r?\n?$`) })

// withKnownVersion replaces YAML 1.2 and others of 1 in the directives before documents by 1.1. The
// values are converted by the rules of 1.2 in each case.
func withKnownVersion(text string) string {
	if !strings.Contains(text, "%YAML") {
		return text
	}
	var b strings.Builder
	directives := true
	for line := range strings.Lines(text) {
		switch plain := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "..."):
			directives = true
		case directives && version().MatchString(line):
			n := strings.IndexByte(line, '.') + 1
			line = line[:n] + "1" + line[n+1:]
		case plain != "" && plain[0] != '#' && line[0] != '%':
			directives = false
		}
		b.WriteString(line)
	}
	return b.String()
}

var pair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
})

// withoutPairs replaces the surrogate pairs of strings in double quotes.
func withoutPairs(text string) string {
	var b strings.Builder
	for {
		n := strings.IndexByte(text, '\\')
		if n < 0 || n+1 == len(text) {
			return b.String() + text
		}
		b.WriteString(text[:n])
		text = text[n:]
		if at := pair().FindStringIndex(text[:min(len(text), 12)]); at != nil && at[0] == 0 {
			high, _ := strconv.ParseUint(text[2:6], 16, 32) // they are digits
			low, _ := strconv.ParseUint(text[8:12], 16, 32)
			fmt.Fprintf(&b, `\U%08X`, utf16.DecodeRune(rune(high), rune(low)))
			text = text[12:]
			continue
		}
		b.WriteString(text[:2])
		text = text[2:]
	}
}

// maxReads is the maximum number of scalars in which withoutPairsInQuotes replaces pairs.
const maxReads = 1000

// withoutPairsInQuotes replaces surrogate pairs in a text that is not JSON. Only the library knows
// which of them are in double quotes: it reports the first one that it cannot read.
func withoutPairsInQuotes(text string) string {
	for range maxReads {
		var e *yaml.LoadError
		if !errors.As(read(text), &e) {
			return text
		}
		at := offset(text, e.Mark.Line, e.Mark.Column) - len(`\u`)
		if at < 0 || at > len(text) || !strings.HasPrefix(text[at:], `\u`) {
			return text
		}
		end := at
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(text))
		fixed := withoutPairs(text[at:end])
		if fixed == text[at:end] {
			return text
		}
		text = text[:at] + fixed + text[end:]
	}
	return text
}

// read returns the error of the first document that cannot be read.
func read(text string) error {
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var n yaml.Node
		if err := d.Decode(&n); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// offset returns the offset in bytes of a line and a column, which start at 1.
func offset(text string, line, column int) int {
	at := 0
	for range line - 1 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	for i := range text[at:] {
		if column--; column == 0 {
			return at + i
		}
	}
	return len(text)
}
