// Package jsonrepair finds JSON in a model's text and corrects the errors that models make: fences
// and prose around the JSON, trailing or missing commas, comments, single or curly quotes, keys and
// words without quotes, literals of Python, raw control characters, and missing closing brackets of
// an answer that was cut off.
//
// It never invents a value, and lists the corrections of each candidate. It rejects a text that can
// be read in two ways. Its running time is linear in the length of the text.
package jsonrepair

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strings"
)

// maxDepth is the maximum nesting of values that are corrected.
const maxDepth = 500

// Candidate is a JSON value found in a text.
type Candidate struct {
	JSON    json.RawMessage
	Repairs []string // corrections; empty if the text consists of exactly this value
	// Cut is true if the text ends inside a string or a member, so that the value is only the
	// beginning of the intended value. If JSON is nil, the candidate could not be read at all. Only
	// the last candidate can be cut.
	Cut bool
	// Elided is true if the text has `...` in place of a part of the value.
	Elided bool
	// Bare is true if the candidate was not inside a fence.
	Bare bool

	start, end int // offsets in the text
	valid      bool
}

// FindIn returns the values in a text, in order. If the text is JSON, the only value is the whole
// text. Otherwise the values are the objects and arrays in the text and the contents of fences.
// step is called with the number of steps done, about one for eight bytes. It may panic to stop the
// work, and it may be nil.
func FindIn(text string, step func(n int)) []Candidate {
	return find(text, pace(step))
}

// pace is the callback for steps, or nil.
type pace func(n int)

func (p pace) step(n int) {
	if p != nil {
		p(n)
	}
}

func find(text string, p pace) []Candidate {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if p.step(len(text) >> 3); json.Valid([]byte(text)) {
		c := Candidate{JSON: json.RawMessage(text), valid: true, end: len(text), Bare: true}
		if r := (&reader{text: text, pace: p}); r.value(0) {
			c.Repairs = r.repairs.list() // the corrections include removed duplicate members
		}
		return []Candidate{c}
	}
	fenced := fences(text)
	out, seen := brackets(text, fenced, p)
	for _, f := range fenced {
		p.step(len(out) + (f.end-f.start)>>3)
		same := slices.IndexFunc(out, func(c Candidate) bool { return c.start == f.start && c.end == f.end })
		if same >= 0 {
			out[same].Bare = false
		} else if !within(f, seen) && json.Valid([]byte(text[f.start:f.end])) {
			out = append(out, Candidate{JSON: json.RawMessage(text[f.start:f.end]), start: f.start, end: f.end, valid: true})
		}
	}
	for i := range out {
		if c := &out[i]; !c.Bare {
			c.Repairs = append(c.Repairs, "took it out of a code fence")
		} else if c.start > 0 || c.end < len(text) {
			c.Repairs = append(c.Repairs, "left out the text around it")
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return a.start - b.start })
	return out
}

// span is a range of byte offsets in a text.
type span struct{ start, end int }

// fences returns the contents of ``` blocks. A block without a closing fence extends to the end of
// the text.
func fences(text string) []span {
	var out []span
	for at := 0; ; {
		open := strings.Index(text[at:], "```")
		if open < 0 {
			return out
		}
		from := at + open + len("```")
		to, next := len(text), len(text)
		if n := strings.Index(text[from:], "```"); n >= 0 {
			to, next = from+n, from+n+len("```")
		}
		// The first line of a block may contain the name of a language.
		if line := strings.IndexByte(text[from:to], '\n'); line >= 0 && !strings.ContainsAny(text[from:from+line], "{[\"") {
			from += line + 1
		}
		inside := text[from:to]
		from += len(inside) - len(strings.TrimLeft(inside, " \t\r\n"))
		if inside = strings.TrimSpace(inside); inside != "" {
			out = append(out, span{from, from + len(inside)})
		}
		at = next
	}
}

// brackets reads the outermost objects and arrays of a text. seen contains the ranges that it has
// read: a fence inside such a range is not a separate candidate.
func brackets(text string, fences []span, p pace) (out []Candidate, seen []span) {
	f := finder{text: text, fences: fences, budget: 4 * len(text), pace: p}
	comments := comments{}
	for i := 0; i < len(text); {
		if c := text[i]; c != '{' && c != '[' {
			i += max(comments.length(text, i), 1)
			continue
		}
		if !begins(text[i:]) {
			i = f.skip(i)
			continue
		}
		c, next, ok := f.bracket(i)
		if !ok || c.Cut { // the text that follows may be a part of the candidate
			next = len(text)
			c.Cut = true
		}
		out = append(out, c)
		seen = append(seen, span{i, next})
		i = next
	}
	return out, seen
}

// comments finds the comments around values. A value in a comment, such as an earlier one that was
// commented out, is no candidate. The keys are the ends of comments that do not follow in the text.
type comments map[string]bool

// length returns the length of the comment that begins at i, or 0.
func (missing comments) length(text string, i int) int {
	if strings.IndexByte("/#<", text[i]) < 0 {
		return 0
	}
	if i > 0 && strings.IndexByte(" \t\r\n", text[i-1]) < 0 && !strings.HasSuffix(text[:i], "```") && text[i-1] != '}' && text[i-1] != ']' {
		return 0 // a part of a word, such as a URL
	}
	rest := text[i:]
	for open, closer := range map[string]string{"//": "\n", "# ": "\n", "/*": "*/", "<!--": "-->"} {
		if !strings.HasPrefix(rest, open) || missing[closer] {
			continue
		}
		if n := strings.Index(rest[len(open):], closer); n >= 0 {
			return len(open) + n + len(closer)
		}
		if closer == "\n" {
			return len(rest)
		}
		missing[closer] = true
	}
	return 0
}

// within reports whether s begins inside one of others, which are sorted.
func within(s span, others []span) bool {
	i := sort.Search(len(others), func(i int) bool { return others[i].end > s.start })
	return i < len(others) && others[i].start <= s.start
}

// finder reads candidates at different positions of one text.
type finder struct {
	text   string
	fences []span // fences that end after the current position
	budget int    // number of bytes that may still be read in vain
	pace   pace
}

// skip returns the offset after a remark in brackets that begins at start. The remark contains no
// values. If the bracket is never closed, skip skips only the bracket.
func (f *finder) skip(start int) int {
	if f.budget < 0 {
		return start + 1
	}
	n, closed := extent(f.text[start:])
	if f.pace.step(n >> 3); !closed {
		f.budget -= n
		return start + 1
	}
	return start + n
}

// bracket reads the object or array that begins at start. If it can be read, next is the offset at
// which to continue.
func (f *finder) bracket(start int) (c Candidate, next int, ok bool) {
	text, end := f.text, 0
	if f.budget < 0 { // after too much reading in vain, limit the reading to the text that is skipped anyway
		end = f.end(start)
		text = f.text[:end]
	}
	r := &reader{text: text, pos: start, pace: f.pace}
	whole := r.value(0)
	if limit := f.limit(start); limit < r.pos && (!whole || r.repairs.count[missingCloser] > 0) {
		f.budget -= r.pos - start
		r = &reader{text: f.text[:limit], pos: start, pace: f.pace}
		whole = r.value(0)
	}
	if whole && !r.isAmbiguous() {
		if c, ok = r.candidate(start); ok {
			return c, max(end, c.end), true
		}
	}
	f.budget -= r.pos - start
	if end == 0 {
		end = f.end(start)
	}
	f.pace.step((end - start) >> 3)
	c = Candidate{start: start, end: end, Bare: true}
	stretch := f.text[start:end]
	if json.Valid([]byte(stretch)) { // the value is nested too deeply for reader, but is valid
		c.JSON, c.valid = json.RawMessage(stretch), true
		return c, end, true
	}
	return c, end, false
}

// limit returns the end of the fence that contains start. Outside fences it returns the end of the
// text.
func (f *finder) limit(start int) int {
	for len(f.fences) > 0 && f.fences[0].end <= start {
		f.fences = f.fences[1:]
	}
	if len(f.fences) > 0 && f.fences[0].start <= start {
		return f.fences[0].end
	}
	return len(f.text)
}

// candidate returns the value that r has read, which begins at start.
func (r *reader) candidate(start int) (Candidate, bool) {
	c := Candidate{Repairs: r.repairs.list(), Cut: r.cut, Elided: r.repairs.count[ellipsis] > 0, start: start, end: r.pos, Bare: true}
	r.pace.step((r.pos - start) >> 3)
	if stretch := r.text[start:r.pos]; len(c.Repairs) == 0 && json.Valid([]byte(stretch)) {
		c.JSON, c.valid = json.RawMessage(stretch), true
		return c, true
	}
	out, ok := compact(r.out)
	c.JSON = out
	return c, ok
}

// end returns the offset at which the object or array that begins at start ends. It considers only
// brackets.
func (f *finder) end(start int) int {
	n, _ := extent(f.text[start:])
	f.pace.step(n >> 3)
	return start + n
}

// extent returns the length in bytes of the object or array at the beginning of text. closed is
// false if the closing bracket is missing; the length then extends to the end of the text.
func extent(text string) (n int, closed bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

// maxLead is the number of bytes after a bracket that begins inspects.
const maxLead = 256

// begins reports whether the bracket at the beginning of text looks like the beginning of JSON and
// not like a remark in prose.
func begins(text string) bool {
	r := &reader{text: text[:min(len(text), maxLead)], pos: 1}
	switch c := r.next(); {
	case c == 0:
		return r.rest() == "" && len(text) < maxLead
	case c == '}', c == ']', r.quote() != "":
		return true
	case text[0] == '[':
		_, isWord := words[r.rest()[:wordLength(r.rest())]]
		return isWord || strings.IndexByte("{[`-+.0123456789", c) >= 0
	}
	word := wordLength(r.rest())
	r.pos += word
	c := r.next()
	return word > 0 && (c == ':' || c == '=')
}

// wordLength returns the length of the word at the beginning of s.
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

// words maps literals of JSON, JavaScript and Python to JSON. Infinity and NaN become null, because
// JSON does not have them.
var words = map[string]string{
	"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null",
	"undefined": "null", "NaN": "null", "Infinity": "null", "nil": "null", "TRUE": "true", "FALSE": "false", "NULL": "null",
}

// compact returns b as compact JSON. ok is false if b is not valid JSON. It is the last check of a
// corrected value.
func compact(b []byte) (json.RawMessage, bool) {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return nil, false
	}
	return out.Bytes(), true
}

// InRow reports whether the values of a text form a sequence, like the lines of NDJSON. There may
// be only spaces and commas between the values, and no line before or after them may be another
// value.
func InRow(text string, values []Candidate) bool {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	for i := 1; i < len(values); i++ {
		if strings.Trim(text[values[i-1].end:values[i].start], ", \t\r\n") != "" {
			return false
		}
	}
	before := strings.TrimSpace(text[:values[0].start])
	after := strings.TrimSpace(text[values[len(values)-1].end:])
	line := before[strings.LastIndexByte(before, '\n')+1:]
	ends := strings.TrimRight(line, "\"'”’»,0123456789") != line // in what could be a value
	return !ends && !scalar(line) && !scalar(after)
}

// scalar reports whether a line begins like a string, a number or a literal.
func scalar(line string) bool {
	r := &reader{text: line}
	c := r.next()
	if c == 0 || strings.HasPrefix(r.rest(), "```") {
		return false
	}
	_, isWord := words[r.rest()[:wordLength(r.rest())]]
	return isWord || r.quote() != "" || strings.IndexByte("+-.0123456789", c) >= 0
}
