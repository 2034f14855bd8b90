package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Local specifies that a variable of the source is in Register for the instructions [From, To) of
// its block, if the register is set there. The value has the register's class. If the register
// contains an array of variables, Slot is the variable's index in the array; otherwise Slot is -1.
// If the register contains a cell, the value is in the cell. If several Locals have the same name
// at an instruction, the last one applies.
//
// Only debuggers use Locals. The code of a program has them, the code of the library does not.
type Local struct {
	Name           string
	Register, Slot int
	From, To       int
	// Reserved is the first instruction from which the register is used only for the variable. The
	// variable is initialised before From. Files do not contain Reserved.
	Reserved int
}

// String returns the text of the local in files: "name rN from to", or "name rN.slot from to".
func (l Local) String() string {
	if l.Slot >= 0 {
		return fmt.Sprintf("%s r%d.%d %d %d", l.Name, l.Register, l.Slot, l.From, l.To)
	}
	return fmt.Sprintf("%s r%d %d %d", l.Name, l.Register, l.From, l.To)
}

// parseLocal parses a text that String has returned.
func parseLocal(text string) (l Local, ok bool) {
	words := strings.Split(text, " ")
	if len(words) != 4 || words[0] == "" {
		return l, false
	}
	l.Name, l.Slot = words[0], -1
	place, ok := strings.CutPrefix(words[1], "r")
	if register, slot, spilled := strings.Cut(place, "."); spilled {
		ok = ok && plainNumber(slot, &l.Slot)
		place = register
	}
	ok = ok && plainNumber(place, &l.Register) && plainNumber(words[2], &l.From) && plainNumber(words[3], &l.To)
	l.Reserved = l.From
	return l, ok
}

// plainNumber parses a number without sign and leading zeros. It returns false if text is not such
// a number.
func plainNumber(text string, to *int) bool {
	n, err := strconv.Atoi(text)
	*to = n
	return err == nil && n >= 0 && (text[0] != '0' || text == "0") && text[0] != '+'
}

// LocalsAt returns the locals that apply at an instruction, in the order of their declaration. Of
// two locals with the same name it returns only the last.
func LocalsAt(all []Local, pc int) []Local {
	var out []Local
	for _, l := range all {
		if pc < l.From || pc >= l.To {
			continue
		}
		out = slices.DeleteFunc(out, func(o Local) bool { return o.Name == l.Name })
		out = append(out, l)
	}
	return out
}

// local writes or reads a local as one string.
func (c *codec) local(l *Local) {
	if c.writing {
		c.out = jsonwrite.Plain.Append(c.out, l.String())
		return
	}
	c.peek()
	start := c.pos
	text := c.readString()
	got, ok := parseLocal(text)
	if !ok {
		c.fail(start, "malformed local %q", text)
	}
	*l = got
}

// text returns the text of an inlined call, followed by its locals.
func (i *Inlined) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d f%d %d:%d", i.From, i.To, i.Function, i.Line, i.Column)
	for _, l := range i.Locals {
		b.WriteString(", " + l.String())
	}
	return b.String()
}

// parseInlined parses a text that Inlined.text has returned.
func parseInlined(text string) (i Inlined, ok bool) {
	parts := strings.Split(text, ", ")
	if _, err := fmt.Sscanf(parts[0], "%d %d f%d %d:%d", &i.From, &i.To, &i.Function, &i.Line, &i.Column); err != nil {
		return i, false
	}
	for _, part := range parts[1:] {
		l, ok := parseLocal(part)
		if !ok {
			return i, false
		}
		i.Locals = append(i.Locals, l)
	}
	return i, i.text() == text
}

// locals checks the locals of a block, or of a call inlined in it. Their ranges must be within the
// instructions [from, to).
func (c *codeVerifier) locals(all []Local, from, to int) {
	for _, l := range all {
		named := l.Name != "" && !strings.ContainsFunc(l.Name, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
		ok := named && l.Register >= 1 && l.Register < c.f.Registers && l.Slot >= -1 && l.From >= from && l.From < l.To && l.To <= to
		if !ok {
			c.check(false, "%s: local %q", c.where(), l.String())
			return
		}
	}
}
