// Package terminal makes texts from models, hosts, servers and files safe to show on a terminal.
// Such texts may contain characters that move the cursor, change the title of the window, or change
// the direction of the text that follows.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// steers reports whether a terminal interprets a character instead of displaying it.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029
}

// Escape replaces control characters by the form `\u{1b}`, and bytes that are not UTF-8 by the form
// `\x9b`. It preserves line feeds and tabs.
func Escape(text string) string { return escape(text, func(string) int { return 0 }) }

// Printed is Escape for the output of programs. It also preserves colours, carriage returns and
// sequences that erase the line.
func Printed(text string) string { return escape(text, harmless) }

// escape escapes text. It preserves the beginning of each rest of the text for which preserved
// returns a length greater than 0.
func escape(text string, preserved func(string) int) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		bad := r == utf8.RuneError && n == 1
		if !bad && (r == '\n' || r == '\t' || !steers(r)) {
			i += n
			continue
		}
		if k := preserved(text[i:]); k > 0 {
			i += k
			continue
		}
		b.WriteString(text[from:i])
		if bad {
			fmt.Fprintf(&b, `\x%02x`, text[i])
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		i += n
		from = i
	}
	if from == 0 {
		return text
	}
	return b.String() + text[from:]
}

// OneLine returns text on a single line without hidden characters. A line feed becomes ⏎. Any other
// character that is not printed becomes the form `\u{1b}`: a control character, a space of unusual
// width, or a character without width. OneLine is for commands that a user reads before allowing
// them. Applying OneLine to its result does not change the result.
func OneLine(text string) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		b.WriteString(shown(text[i:], r))
	}
	return b.String()
}

// Brief is OneLine with a limit on the number of characters. A longer text ends with the number of
// omitted characters: " … (12 more characters)".
func Brief(text string, most int) string {
	var b strings.Builder
	for i, r := range text {
		c := shown(text[i:], r)
		if most -= utf8.RuneCountInString(c); most < 0 {
			fmt.Fprintf(&b, " … (%d more characters)", utf8.RuneCountInString(text[i:]))
			break
		}
		b.WriteString(c)
	}
	return b.String()
}

// lineEnd replaces a line feed.
const lineEnd = '⏎'

// braille is the blank Braille pattern, which looks like a space although Unicode classifies it as
// a symbol.
const braille = '\u2800'

// hidden reports whether OneLine replaces a character.
func hidden(r rune) bool {
	return r == braille || !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// shown returns the replacement of the character r in OneLine. rest is the text that begins with r.
func shown(rest string, r rune) string {
	switch {
	case r == '\n':
		return string(lineEnd)
	case r == utf8.RuneError && !strings.HasPrefix(rest, string(utf8.RuneError)):
		return fmt.Sprintf(`\x%02x`, rest[0])
	case hidden(r):
		return fmt.Sprintf(`\u{%x}`, r)
	}
	return string(r)
}

// harmless returns the length of a harmless sequence at the start of text: a carriage return, a
// colour, or a sequence that erases the line. It returns 0 for any other text. A colour that
// conceals text is not harmless.
func harmless(text string) int {
	if text[0] == '\r' {
		return 1
	}
	rest, ok := strings.CutPrefix(text, "\x1b[")
	if !ok {
		return 0
	}
	n := 0
	for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n] == ';') {
		n++
	}
	switch {
	case n == len(rest):
		return 0
	case rest[n] == 'K':
		return len("\x1b[") + n + 1
	case rest[n] != 'm':
		return 0
	}
	for code := range strings.SplitSeq(rest[:n], ";") {
		if strings.TrimLeft(code, "0") == "8" {
			return 0
		}
	}
	return len("\x1b[") + n + 1
}

// JSON escapes the control characters in the strings of a JSON text. The value of the text does not
// change.
func JSON(text string) string {
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if steers(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, `\u%04x`, r) // all characters to escape have at most four hexadecimal digits
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Writer returns a writer that escapes text and writes it to w. It never splits a character.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ w io.Writer }

func (x writer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(x.w, Escape(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
