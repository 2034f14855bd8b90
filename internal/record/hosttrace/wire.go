// Package hosttrace records the lines between a run and the processes of its hosts
// (spec/34-host.md, `--wire`). It defines the format, reads and writes it, and compares lines with
// recorded lines. It uses neither files nor a clock.
//
// A recording is NDJSON: a Header, and then the Lines in order. Each line is written in one write,
// so a recording is valid however the run ends.
package hosttrace

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Version is the version of the recording's format.
const Version = 1

// Header is the first line of a recording.
type Header struct {
	Version int    `json:"concerto_wire"`
	Started string `json:"started"` // RFC 3339
	Program string `json:"program"` // name of the main file; "" without a program
}

// Dir is the direction of a line, from the view of Concerto.
type Dir string

// The directions of lines.
const (
	From      Dir = "<" // from the host
	To        Dir = ">" // to the host
	Stderr    Dir = "!" // standard error of the host
	Lifecycle Dir = "." // a lifecycle event: Start, "exit CODE", Killed, or a version
)

// The texts of Lifecycle lines. The text of an exit continues with the exit code.
const (
	Start  = "start"
	Exit   = "exit "  // followed by the exit code
	Killed = "killed" // stopped by SIGKILL
	// continues with the output of the command for --version; Proc is then 0
	VersionIs = "version "
)

// Line is a recorded line.
type Line struct {
	T       float64 // seconds since the start of the run
	Dir     Dir
	Host    string // name of the host's declaration
	Proc    int    // number of the host's process, from 1; 0 if the line belongs to no process
	Session string // id of the host's session; "" while it is unknown
	Text    string // text without its newline; may be invalid UTF-8
}

// lineJSON is the JSON form of a Line. Bytes contains a text that is not valid UTF-8.
type lineJSON struct {
	T       float64 `json:"t"`
	Dir     Dir     `json:"dir"`
	Host    string  `json:"host"`
	Proc    int     `json:"proc"`
	Session string  `json:"session"`
	Line    *string `json:"line,omitempty"`
	Bytes   []byte  `json:"bytes,omitempty"` // base64
}

func (l Line) MarshalJSON() ([]byte, error) {
	j := lineJSON{T: l.T, Dir: l.Dir, Host: l.Host, Proc: l.Proc, Session: l.Session}
	if utf8.ValidString(l.Text) {
		j.Line = &l.Text
	} else {
		j.Bytes = []byte(l.Text)
	}
	return jsonwrite.Encode(j)
}

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
