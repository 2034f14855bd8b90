package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// span is a coloured part of a text.
type span struct {
	start, end int
	class      string
}

// The classes of coloured parts. They are short, because pages contain many.
const (
	keywordClass = "k"
	stringClass  = "s"
	numberClass  = "n"
	commentClass = "c"
	typeClass    = "t"
	markClass    = "d" // decorators, keys of manifests, prompts of commands
	badClass     = "e"
)

// escaper escapes the text of an element.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// highlight returns a text as HTML with coloured parts.
func highlight(language, text string) string {
	var spans []span
	switch language {
	case "concerto":
		spans = lex(text)
	case "toml":
		spans = match(tomlParts, text)
	case "console":
		spans = match(consoleParts, text)
	case "diagnostics", "stderr":
		spans = match(diagnosticParts, text)
	case "host":
		spans = match(hostParts, text)
	case "python", "sh", "js", "ts", "json", "yaml", "go", "bash":
		spans = match(commonParts, text)
	}
	var b strings.Builder
	at := 0
	for _, x := range spans {
		if x.start < at {
			continue
		}
		b.WriteString(escaper.Replace(text[at:x.start]))
		part := escaper.Replace(text[x.start:x.end])
		switch x.class { // the most frequent classes have short elements
		case keywordClass:
			b.WriteString("<b>" + part + "</b>")
		case stringClass:
			b.WriteString("<u>" + part + "</u>")
		default:
			b.WriteString(`<i class="` + x.class + `">` + part + `</i>`)
		}
		at = x.end
	}
	b.WriteString(escaper.Replace(text[at:]))
	return b.String()
}

// lex returns the parts of a program, as the lexer of the compiler reads it.
func lex(text string) (spans []span) {
	f := source.NewFile("sample.conc", []byte(text))
	if len(f.Text) != len(text) {
		return nil // the text has carriage returns or a byte order mark
	}
	tokens, comments, _ := lexer.Lex(f)
	for _, c := range comments {
		spans = append(spans, span{int(c.Start), int(c.End), commentClass})
	}
	for i, t := range tokens {
		x := span{start: int(t.Start), end: int(t.End)}
		next := lexer.EOF
		if i+1 < len(tokens) {
			next = tokens[i+1].Kind
		}
		word := text[x.start:x.end]
		switch {
		case i > 0 && tokens[i-1].Kind == lexer.At:
			x.start, x.class = int(tokens[i-1].Start), markClass
		case t.Kind.IsKeyword() && (i == 0 || tokens[i-1].Kind != lexer.Dot) && next != lexer.Colon:
			x.class = keywordClass
		case t.Kind == lexer.Int || t.Kind == lexer.Float:
			x.class = numberClass
		case t.Kind == lexer.String || t.Kind == lexer.StringHead || t.Kind == lexer.StringMid || t.Kind == lexer.StringTail:
			x.class = stringClass
		case t.Kind == lexer.Bad:
			x.class = badClass
		case t.Kind == lexer.Ident && word[0] >= 'A' && word[0] <= 'Z':
			x.class = typeClass
		}
		if x.class != "" && x.end > x.start {
			spans = append(spans, x)
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	return spans
}

// part is a pattern whose groups have classes.
type part struct {
	pattern *regexp.Regexp
	classes []string // by group, from the first; "" for none
}

var (
	tomlParts = part{regexp.MustCompile(`(?m)(#[^\n]*)|("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|^(\[[^\n]*\])$|^([\w.*"-]+)(?: *=)|\b(true|false|[0-9][0-9_.]*)\b`),
		[]string{commentClass, stringClass, keywordClass, markClass, numberClass}}
	consoleParts    = part{regexp.MustCompile(`(?m)^(\$ )([^\n]*)`), []string{commentClass, typeClass}}
	diagnosticParts = part{regexp.MustCompile(`(?m)(error(?:\[E\d+\])?:)|(warning(?:\[W\d+\])?:)|(\^+)|(-{2,})|(= hint:)`),
		[]string{badClass, numberClass, badClass, typeClass, stringClass}}
	hostParts   = part{regexp.MustCompile(`(?m)^(#[^\n]*)|^(>[~=]?|<|[a-z-]+) |("(?:[^"\\\n]|\\.)*")`), []string{commentClass, keywordClass, stringClass}}
	commonParts = part{regexp.MustCompile(`(?m)((?:^|\s)#[^\n]*|(?:^|\s)//[^\n]*)|(f?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\b(import|from|def|for|in|if|else|return|async|await|with|as|while|continue|break|not|const|let|func|package|export|function|true|false|null|None|True|False)\b`),
		[]string{commentClass, stringClass, keywordClass}}
)

// match returns the parts of a text that match a pattern.
func match(p part, text string) (spans []span) {
	for _, m := range p.pattern.FindAllStringSubmatchIndex(text, -1) {
		for i, class := range p.classes {
			if start, end := m[2*i+2], m[2*i+3]; start >= 0 && end > start && class != "" {
				spans = append(spans, span{start, end, class})
			}
		}
	}
	return spans
}
