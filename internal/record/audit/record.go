// Package audit implements a tamper-evident log: lines of JSON, each with the hash of the previous
// line. It stores calls of tools, and the decisions of a run.
//
// A line is its record in canonical form (RFC 8785, package jcs). Its `hash` is the hexadecimal
// SHA-256 of the line without the text `"hash":"…",`, and its `prev` is the hash of the previous
// line, or 64 zeros in the first one. So a few lines of any language can verify a log, without
// canonical JSON.
//
// Open opens a Log for one process at a time. It verifies the whole file first, and refuses one
// whose chain is broken (*BrokenError). Append writes a record in one write; on failure nothing of
// it remains. Verify and Lines read a log, even while it is being written.
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

// The kinds of records that the log writes about itself, and those of calls.
const (
	KindOpen  = "open"
	KindClose = "close"
	KindCall  = "call"
	KindDone  = "done"
)

// Actor is the originator of the recorded action. For a decision by the program's code, At is its
// position: file:line:column.
type Actor struct {
	Type string `json:"type"`
	Name string `json:"name"`
	At   string `json:"at,omitempty"`
}

// Record is a record to write. Subject and Data are JSON objects; nil is an empty one.
type Record struct {
	Run, Kind     string
	Actor         Actor
	Subject, Data json.RawMessage
	At            time.Time // zero means now
}

// Line is a record in a log.
type Line struct {
	Seq     int64           `json:"seq"` // from 1
	Time    string          `json:"time"`
	Run     string          `json:"run"`
	Kind    string          `json:"kind"`
	Actor   Actor           `json:"actor"`
	Subject json.RawMessage `json:"subject"`
	Data    json.RawMessage `json:"data"`
	Prev    string          `json:"prev"`
	Hash    string          `json:"hash"`
	Text    []byte          `json:"-"` // the line without its line end
	At      Position        `json:"-"` // position after the line, if it was read from a log
}

// Head identifies the last record of a log. Any change or cut of the log changes it.
type Head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// start is the head before the first record.
var start = Head{Hash: strings.Repeat("0", 64)}

// timeForm is RFC 3339 in UTC, with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// Start returns the head before the first record, for a log that is not stored in a file.
func Start() Head { return start }

// After returns the record as the line that follows head, at a time. The caller must ensure that
// each line follows the previous one.
func (r Record) After(head Head, at time.Time) (Line, error) { return r.line(head, at) }

// recordStart is the beginning of each record: its members are in canonical order.
const recordStart = `{"actor":{`

// line returns the line that follows head.
func (r Record) line(head Head, at time.Time) (Line, error) {
	l := Line{Seq: head.Seq + 1, Time: at.UTC().Format(timeForm), Run: r.Run, Kind: r.Kind, Actor: r.Actor, Prev: head.Hash}
	var err1, err2 error
	l.Subject, err1 = canonicalObject(r.Subject)
	l.Data, err2 = canonicalObject(r.Data)
	if err := errors.Join(err1, err2); err != nil {
		return l, fmt.Errorf("audit record: %w", err)
	}
	// The members in canonical order; the hash is inserted between these two.
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
	l.Text = append(text, '\n')[:len(text)] // the line end is after the text, and is written too
	return l, nil
}

// canonicalObject returns an object in canonical form; nil is an empty one.
func canonicalObject(o json.RawMessage) (json.RawMessage, error) {
	if o == nil {
		return json.RawMessage("{}"), nil
	}
	return jcs.Canonical(o)
}

// without returns a record's text without a member of the record itself; false if it has none. The
// same text may also appear within the values.
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
