// Package hosttrace is the recording of what passes between a run and the processes of
// its hosts (spec/18-cli.md, `--wire`): its form, who writes and who reads it, and
// when a line is the one that was recorded. It touches no file and no clock.
//
// A recording is NDJSON: a Header, then Lines in the order in which they passed. It
// is written line by line, each by one write, so that what is there is whole however
// the run ends.
package hosttrace

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Version is that of the form.
const Version = 1

// Header is a recording's first line.
type Header struct {
	Version int    `json:"concerto_wire"`
	Started string `json:"started"` // RFC 3339
	Program string `json:"program"` // the file of its main; "" when there is no program
}

// Dir says who said a line to whom.
type Dir string

// The directions.
const (
	From  Dir = "<" // from the host
	To    Dir = ">" // to it
	Aside Dir = "!" // its standard error
	Fate  Dir = "." // what became of it: Start, "exit CODE", Killed, or a version
)

// What a line of Fate says.
const (
	Start     = "start"
	Exit      = "exit "    // and the exit code
	Killed    = "killed"   // by SIGKILL
	VersionIs = "version " // and what the program says to --version, which is no process of the host: its Proc is 0
)

// Line is a line that passed.
type Line struct {
	T       float64 // in seconds since the run's start
	Dir     Dir
	Host    string // the declaration's name
	Proc    int    // the how-manieth process of the host, from 1; 0 for none of them
	Session string // the conversation; "" while it is not known
	Text    string // without its end; it need not be UTF-8
}

// lineJSON is a Line as it is written. A text that is not UTF-8 is in Bytes.
type lineJSON struct {
	T       float64 `json:"t"`
	Dir     Dir     `json:"dir"`
	Host    string  `json:"host"`
	Proc    int     `json:"proc"`
	Session string  `json:"session"`
	Line    *string `json:"line,omitempty"`
	Bytes   []byte  `json:"bytes,omitempty"` // base64
}

// MarshalJSON writes the line.
func (l Line) MarshalJSON() ([]byte, error) {
	j := lineJSON{T: l.T, Dir: l.Dir, Host: l.Host, Proc: l.Proc, Session: l.Session}
	if utf8.ValidString(l.Text) {
		j.Line = &l.Text
	} else {
		j.Bytes = []byte(l.Text)
	}
	return jsonwrite.Encode(j)
}

// UnmarshalJSON reads a line.
func (l *Line) UnmarshalJSON(text []byte) error {
	var j lineJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*l = Line{T: j.T, Dir: j.Dir, Host: j.Host, Proc: j.Proc, Session: j.Session, Text: string(j.Bytes)}
	if j.Line != nil {
		l.Text = *j.Line
	}
	return nil
}
