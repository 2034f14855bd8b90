// Package hosttrace records the lines between a run and its host processes (spec/34-host.md,
// `--wire`): it defines the format, reads and writes it, and compares lines with recorded ones. It
// uses no files and no clock.
//
// A recording is NDJSON: a Header, then Lines in order. Each line is written by one write, so a
// recording is valid however the run ends.
package hosttrace

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Version is the version of the format.
const Version = 1

// Header is the first line of a recording.
type Header struct {
	Version int    `json:"concerto_wire"`
	Started string `json:"started"` // RFC 3339
	Program string `json:"program"` // name of the main file; "" without a program
}

// Dir is the direction of a line.
type Dir string

// The directions.
const (
	From      Dir = "<" // from the host
	To        Dir = ">" // to the host
	Stderr    Dir = "!" // its standard error
	Lifecycle Dir = "." // a lifecycle event: Start, "exit CODE", Killed, or a version
)

// The texts of Lifecycle lines.
const (
	Start  = "start"
	Exit   = "exit "  // followed by the exit code
	Killed = "killed" // by SIGKILL
	// followed by the output for --version, which belongs to no process: its Proc is 0
	VersionIs = "version "
)

// Line is a recorded line.
type Line struct {
	T       float64 // seconds since the start of the run
	Dir     Dir
	Host    string // name of the declaration
	Proc    int    // number of the process, from 1; 0 for none
	Session string // the session; "" while it is unknown
	Text    string // without its end; need not be valid UTF-8
}

// lineJSON is the JSON form of a Line. A text that is not valid UTF-8 is in Bytes.
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
