// Package jsonrepair finds the JSON in a model's text and corrects the errors that models make:
// fences and prose around it, trailing or missing commas, comments, single or curly quotes, bare
// keys and words, Python's literals, raw control characters, and closing brackets that are missing
// because the answer was cut off.
//
// It never invents a value, and lists for each candidate what it corrected. A text that can be read
// in two ways is not a candidate. Its time is linear in the text's length.
package jsonrepair

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"
)

// ErrNone is the error for a text that contains no JSON, and nothing that can be corrected to JSON.
var ErrNone = errors.New("the text holds no JSON")

// maxDepth bounds the nesting of values that are corrected.
const maxDepth = 500

// Candidate is a JSON value in a text.
type Candidate struct {
	JSON    json.RawMessage
	Repairs []string // the corrections; none if the text is this value and nothing else
	// Cut means that the text ends within a string or a member, so that the value is only the
	// beginning of the intended one. If JSON is nil, the candidate could not be read at all. Only
	// the last candidate can be cut.
	Cut bool
	// Bare means that it was in the text itself, not in a fence.
	Bare bool

	start, end int // in the text
	valid      bool
}

// Find returns the values in a text, in their order: the whole text if it is JSON; otherwise the
// objects and arrays in it, and the contents of fences.
func Find(text string) []Candidate { return FindIn(text, nil) }

// FindIn is Find that reports its steps, one for about eight bytes. step may panic to end the work;
// it may be nil.
func FindIn(text string, step func(n int)) []Candidate {
	return find(text, pace(step))
}

// pace receives steps.
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
			c.Repairs = r.repairs.list() // a duplicate member
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

// Extract returns the JSON value that a text means: the whole text if it is JSON; otherwise the
// longest object, array or content of a fence that is JSON; otherwise the longest of these that can
// be corrected. The error is ErrNone.
func Extract(text string) (json.RawMessage, error) {
	best := Candidate{start: 0, end: -1}
	for _, c := range Find(text) {
		if c.JSON == nil {
			continue
		}
		if c.valid && !best.valid || c.valid == best.valid && c.end-c.start > best.end-best.start {
			best = c
		}
	}
	if best.JSON == nil {
		return nil, ErrNone
	}
	return best.JSON, nil
}

// span is a range of a text.
type span struct{ start, end int }

// fences returns the contents of ``` blocks. A block that is not closed extends to the end of the
// text.
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
		// The first line contains the language, if any.
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

// brackets reads the outermost objects and arrays of a text. seen are the ranges that it has read:
// a fence in them is not a candidate of its own.
func brackets(text string, fences []span, p pace) (out []Candidate, seen []span) {
	f := finder{text: text, fences: fences, budget: 4 * len(text), pace: p}
	for i := 0; i < len(text); {
		if c := text[i]; c != '{' && c != '[' {
			i++
			continue
		}
		if !begins(text[i:]) {
			i = f.skip(i)
			continue
		}
		c, next, ok := f.bracket(i)
		if !ok || c.Cut { // the text after it may be a part of it
			next = len(text)
			c.Cut = true
		}
		out = append(out, c)
		seen = append(seen, span{i, next})
		i = next
	}
	return out, seen
}

// within reports whether a range begins in one of others, which are in order.
func within(s span, others []span) bool {
	i := sort.Search(len(others), func(i int) bool { return others[i].end > s.start })
	return i < len(others) && others[i].start <= s.start
}

// finder reads one text, from many positions.
type finder struct {
	text   string
	fences []span // in the text, those still ahead
	budget int    // bytes that may be read without success
	pace   pace
}

// skip returns the offset after a remark in brackets, which starts at start and contains no values.
// A bracket that is never closed is skipped alone.
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

// bracket reads the object or array that begins at start. next is where to continue if it can be
// read.
func (f *finder) bracket(start int) (c Candidate, next int, ok bool) {
	text, end := f.text, 0
	if f.budget < 0 { // then no more is read than is skipped
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
	if json.Valid([]byte(stretch)) { // nested more deeply than the reader's limit
		c.JSON, c.valid = json.RawMessage(stretch), true
		return c, end, true
	}
	return c, end, false
}

// limit returns the end of the fence that contains start, or of the text.
func (f *finder) limit(start int) int {
	for len(f.fences) > 0 && f.fences[0].end <= start {
		f.fences = f.fences[1:]
	}
	if len(f.fences) > 0 && f.fences[0].start <= start {
		return f.fences[0].end
	}
	return len(f.text)
}

// candidate returns the value that was read from start on.
func (r *reader) candidate(start int) (Candidate, bool) {
	c := Candidate{Repairs: r.repairs.list(), Cut: r.cut, start: start, end: r.pos, Bare: true}
	r.pace.step((r.pos - start) >> 3)
	if stretch := r.text[start:r.pos]; len(c.Repairs) == 0 && json.Valid([]byte(stretch)) {
		c.JSON, c.valid = json.RawMessage(stretch), true
		return c, true
	}
	out, ok := compact(r.out)
	c.JSON = out
	return c, ok
}

// end returns the offset where the object or array that begins at start ends, considering only its
// brackets.
func (f *finder) end(start int) int {
	n, _ := extent(f.text[start:])
	f.pace.step(n >> 3)
	return start + n
}

// extent returns the length in bytes of the object or array with which text begins: to its closing
// bracket or, if it has none, to the end of the text.
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

// maxLead bounds how far a bracket in prose is inspected.
const maxLead = 256

// begins reports whether a bracket in prose looks like the beginning of JSON, not of a remark.
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

// wordLength returns the length of the bare word that s starts with.
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

// words are the literals of JSON, JavaScript and Python. JSON has no infinity and no NaN.
var words = map[string]string{
	"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null",
	"undefined": "null", "NaN": "null", "Infinity": "null", "nil": "null", "TRUE": "true", "FALSE": "false", "NULL": "null",
}

// compact returns b as compact JSON; ok is false if b is not valid. This is the last check on a
// corrected value.
func compact(b []byte) (json.RawMessage, bool) {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return nil, false
	}
	return out.Bytes(), true
}

// InRow reports whether the values of a text follow one another like the lines of NDJSON: with only
// spaces and commas between them, and no line before or after them that could be another value.
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
