// Package audit implements a tamper-evident log. Each line is a JSON record that contains the hash
// of the previous line. Logs contain tool calls, or the decisions of a run.
//
// A line is a record in canonical form (RFC 8785, package jcs). Its `hash` is the SHA-256, in hex,
// of the line without the text `"hash":"…",`. Its `prev` is the hash of the previous line, or 64
// zeros in the first line. So a few lines of code in any language can verify a log without a
// canonical JSON encoder.
//
// Open opens a Log for writing by one process at a time. It first verifies the whole file, and
// returns a *BrokenError if the chain is broken. Append writes a record in one write; after a
// failure no part of the record remains. Verify and Lines read a log, even while another process is
// writing it.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// The kinds of records: `open` and `close` are about the log itself, the others are about tool
// calls.
const (
	KindOpen  = "open"
	KindClose = "close"
	KindCall  = "call"
	KindDone  = "done"
)

// Actor is the person or component that performed the recorded action. If the program's code made a
// decision, At is the position of that code: file:line:column.
type Actor struct {
	Type string `json:"type"`
	Name string `json:"name"`
	At   string `json:"at,omitempty"`
}

// Record is a record to append. Subject and Data are JSON objects; nil means an empty object.
type Record struct {
	Run, Kind     string
	Actor         Actor
	Subject, Data json.RawMessage
	At            time.Time // time of the record; zero means now
}

// Line is a record in a log.
type Line struct {
	Seq     int64           `json:"seq"` // number of the record, from 1
	Time    string          `json:"time"`
	Run     string          `json:"run"`
	Kind    string          `json:"kind"`
	Actor   Actor           `json:"actor"`
	Subject json.RawMessage `json:"subject"`
	Data    json.RawMessage `json:"data"`
	Prev    string          `json:"prev"`
	Hash    string          `json:"hash"`
	Text    []byte          `json:"-"` // line without its newline
	At      Position        `json:"-"` // position after the line, if it was read from a log
}

// Head identifies the last record of a log. Any change to the log before it results in a different
// Head.
type Head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// start is the head before the first record.
var start = Head{Hash: strings.Repeat("0", 64)}

// timeForm is the format of times: RFC 3339 in UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// Start returns the head of an empty log. It is for a log that is not stored in a file.
func Start() Head { return start }

// After returns the line for a record that follows head, with the given time. The caller must
// ensure that each line follows the previous one.
func (r Record) After(head Head, at time.Time) (Line, error) { return r.line(head, at) }

// recordStart is the start of every record, because its members are in canonical order.
const recordStart = `{"actor":{`

// line returns the line for a record that follows head.
func (r Record) line(head Head, at time.Time) (Line, error) {
	l := Line{Seq: head.Seq + 1, Time: at.UTC().Format(timeForm), Run: r.Run, Kind: r.Kind, Actor: r.Actor, Prev: head.Hash}
	var err1, err2 error
	l.Subject, err1 = canonicalObject(r.Subject)
	l.Data, err2 = canonicalObject(r.Data)
	if err := errors.Join(err1, err2); err != nil {
		return l, fmt.Errorf("audit record: %w", err)
	}
	// The members are in canonical order. The hash is inserted between data and kind.
	text := make([]byte, 0, 512+len(l.Actor.Name)+len(l.Run)+len(l.Subject)+len(l.Data))
	text = append(text, recordStart...)
	if l.Actor.At != "" {
		text = append(jcs.AppendText(append(text, `"at":`...), l.Actor.At), ',')
	}
	text = jcs.AppendText(append(text, `"name":`...), l.Actor.Name)
	text = jcs.AppendText(append(text, `,"type":`...), l.Actor.Type)
	text = append(append(append(text, `},"data":`...), l.Data...), ',')
	before := len(text)
	text = jcs.AppendText(append(text, `"kind":`...), l.Kind)
	text = jcs.AppendText(append(text, `,"prev":`...), l.Prev)
	text = jcs.AppendText(append(text, `,"run":`...), l.Run)
	text = strconv.AppendInt(append(text, `,"seq":`...), l.Seq, 10)
	text = append(append(text, `,"subject":`...), l.Subject...)
	text = jcs.AppendText(append(text, `,"time":`...), l.Time)
	text = append(text, '}')
	l.Hash = hexsum.SHA256(text)
	text = slices.Insert(text, before, []byte(`"hash":"`+l.Hash+`",`)...)
	l.Text = append(text, '\n')[:len(text)] // Text excludes the newline, which is in its capacity and is written too
	return l, nil
}

// canonicalObject returns an object in canonical form; nil means an empty object.
func canonicalObject(o json.RawMessage) (json.RawMessage, error) {
	if o == nil {
		return json.RawMessage("{}"), nil
	}
	return jcs.Canonical(o)
}

// without returns the text of a record without its own member own, which must be at the record's
// top level. The same text may also occur inside a value. ok is false if the record has no such
// member.
func without(text, own []byte) ([]byte, bool) {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			if !inText && depth == 1 && bytes.HasPrefix(text[i:], own) {
				return append(bytes.Clone(text[:i]), text[i+len(own):]...), true
			}
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil, false
}

// read parses a line and checks that it follows head.
func read(text []byte, head Head) (Line, error) {
	l := Line{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return l, fmt.Errorf("not a record: %w", err)
	}
	l.Text = text
	form, err := jcs.Canonical(text)
	if err != nil {
		return l, fmt.Errorf("not a record: %w", err)
	}
	rest, found := without(text, []byte(`"hash":"`+l.Hash+`",`))
	switch {
	case !bytes.Equal(form, text):
		return l, fmt.Errorf("the record is not in canonical form")
	case l.Seq != head.Seq+1:
		return l, fmt.Errorf("expected seq %d: a record is missing or twice there", head.Seq+1)
	case l.Prev != head.Hash:
		return l, fmt.Errorf("prev is %s, and the record before has the hash %s", shortHash(l.Prev), shortHash(head.Hash))
	case !found || hexsum.SHA256(rest) != l.Hash:
		return l, fmt.Errorf("the record was changed: its hash is not %s", shortHash(l.Hash))
	}
	return l, nil
}

func shortHash(hash string) string {
	if len(hash) > 12 {
		return hash[:12] + "…"
	}
	return strconv.Quote(hash)
}
