package build

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a JavaScript token. The kinds only distinguish what is needed to find imports
// and remove comments.
type kind uint8

const (
	space kind = iota
	comment
	word // name, keyword or number
	mark // one punctuation character
	text // string
	template
	regex
)

// token is a part of a module's text from start up to end.
type token struct {
	kind       kind
	start, end int
}

// scanner splits a module into tokens. The tokens do not overlap and cover the whole text.
type scanner struct {
	src    string
	at     int
	tokens []token
	braces []int // for each open `${`, the number of open braces in it
	last   token // last token that is neither white space nor a comment
}

// beforeRegex lists words after which a slash begins a regular expression.
var beforeRegex = strings.Fields("return typeof case in of delete void throw new else do instanceof yield await")

// scan splits src into tokens. It returns an error with the line for an unclosed string, comment or
// template.
func scan(src string) ([]token, error) {
	s := &scanner{src: src}
	for s.at < len(src) {
		start := s.at
		k, err := s.next()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+strings.Count(src[:start], "\n"), err)
		}
		t := token{k, start, s.at}
		s.tokens = append(s.tokens, t)
		if k != space && k != comment {
			s.last = t
		}
	}
	if len(s.braces) > 0 {
		return nil, fmt.Errorf("a template's ${ is never closed")
	}
	return s.tokens, nil
}

func (s *scanner) next() (kind, error) {
	rest := s.src[s.at:]
	c := rest[0]
	switch {
	case strings.IndexByte(" \t\r\n", c) >= 0:
		s.at += len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
		return space, nil
	case strings.HasPrefix(rest, "//"):
		s.at += len(firstLine(rest))
		return comment, nil
	case strings.HasPrefix(rest, "/*"):
		return comment, s.upTo("*/", "comment")
	case c == '"' || c == '\'':
		return text, s.quoted(c)
	case c == '`':
		return template, s.template()
	case c == '/' && s.regexMayCome():
		return regex, s.regex()
	case wordChar(c):
		for s.at < len(s.src) && wordChar(s.src[s.at]) {
			s.at++
		}
		return word, nil
	}
	return s.mark(c)
}

// mark consumes one character. If it closes a ${, mark continues with the template.
func (s *scanner) mark(c byte) (kind, error) {
	if n := len(s.braces); n > 0 {
		switch {
		case c == '{':
			s.braces[n-1]++
		case c == '}' && s.braces[n-1] > 0:
			s.braces[n-1]--
		case c == '}':
			s.braces = s.braces[:n-1]
			return template, s.template()
		}
	}
	_, size := utf8.DecodeRuneInString(s.src[s.at:])
	s.at += size
	return mark, nil
}

func wordChar(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (s *scanner) upTo(end, what string) error {
	i := strings.Index(s.src[s.at+2:], end)
	if i < 0 {
		return fmt.Errorf("a %s is never closed", what)
	}
	s.at += 2 + i + len(end)
	return nil
}

func (s *scanner) quoted(quote byte) error {
	for i := s.at + 1; i < len(s.src); i++ {
		switch s.src[i] {
		case '\\':
			i++
		case quote:
			s.at = i + 1
			return nil
		case '\n':
			return fmt.Errorf("a string is never closed")
		}
	}
	return fmt.Errorf("a string is never closed")
}

// template consumes a template from its backquote, or from the brace that closes its last ${, up to
// its end or its next ${.
func (s *scanner) template() error {
	for i := s.at + 1; i < len(s.src); i++ {
		switch {
		case s.src[i] == '\\':
			i++
		case s.src[i] == '`':
			s.at = i + 1
			return nil
		case strings.HasPrefix(s.src[i:], "${"):
			s.braces = append(s.braces, 0)
			s.at = i + 2
			return nil
		}
	}
	return fmt.Errorf("a template is never closed")
}

func (s *scanner) regex() error {
	class := false
	for i := s.at + 1; i < len(s.src) && s.src[i] != '\n'; i++ {
		switch c := s.src[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			s.at = i + 1
			return nil
		}
	}
	return fmt.Errorf("a regular expression is never closed")
}

// regexMayCome reports whether a slash begins a regular expression here, judging by the previous
// token.
func (s *scanner) regexMayCome() bool {
	before := s.src[s.last.start:s.last.end]
	switch s.last.kind {
	case word:
		return slices.Contains(beforeRegex, before)
	case mark:
		return !strings.Contains(")]}", before) && before != ""
	case template:
		return strings.HasSuffix(before, "${")
	case text, regex:
		return false
	}
	return true // at the beginning of the text
}
