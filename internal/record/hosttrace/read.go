package hosttrace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Recording is a parsed recording.
type Recording struct {
	Header Header
	Lines  []Recorded
}

// Recorded is a line with its line number in the file, from 1.
type Recorded struct {
	Line
	Number int
}

// LineError means that a line of a recording is invalid.
type LineError struct {
	Number int
	Why    string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Number, e.Why) }

// Read parses a recording. It ignores an incomplete last line. The error is a *LineError or an
// error of reading.
func Read(from io.Reader) (*Recording, error) {
	r := &Recording{}
	in := bufio.NewReader(from)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return nil, err
		}
		if len(text) > 0 {
			if err := r.add(n, text); err != nil {
				if !ended || n == 1 {
					return nil, err
				}
			}
		}
		if !ended {
			continue
		}
		if r.Header.Version == 0 {
			return nil, &LineError{1, `it has no header, {"concerto_wire":1,…}`}
		}
		return r, nil
	}
}

func (r *Recording) add(n int, text []byte) error {
	if n == 1 {
		if err := json.Unmarshal(text, &r.Header); err != nil || r.Header.Version == 0 {
			return &LineError{n, `it is no recording's header, {"concerto_wire":1,…}`}
		}
		if r.Header.Version != Version {
			return &LineError{n, fmt.Sprintf("the recording has version %d, and %d is known: it is of a newer concerto", r.Header.Version, Version)}
		}
		return nil
	}
	if strings.TrimSpace(string(text)) == "" {
		return nil
	}
	l := Recorded{Number: n}
	if err := json.Unmarshal(text, &l.Line); err != nil {
		return &LineError{n, fmt.Sprintf("it is not a line of a recording: %v", err)}
	}
	if !slices.Contains([]Dir{From, To, Stderr, Lifecycle}, l.Dir) {
		return &LineError{n, fmt.Sprintf(`dir is %q, and "<", ">", "!" or "." is required`, l.Dir)}
	}
	r.Lines = append(r.Lines, l)
	return nil
}

// Hosts returns the names of the recorded hosts in the order of their first lines.
func (r *Recording) Hosts() []string {
	var all []string
	for _, l := range r.Lines {
		if !slices.Contains(all, l.Host) {
			all = append(all, l.Host)
		}
	}
	return all
}

// Process returns the lines of one process of a host.
func (r *Recording) Process(host string, proc int) []Recorded {
	var all []Recorded
	for _, l := range r.Lines {
		if l.Host == host && l.Proc == proc {
			all = append(all, l)
		}
	}
	return all
}

// Processes returns the number of recorded processes of a host.
func (r *Recording) Processes(host string) int {
	n := 0
	for _, l := range r.Lines {
		if l.Host == host {
			n = max(n, l.Proc)
		}
	}
	return n
}

// ProgramVersion returns the recorded output of the host's command for --version. ok is false if
// the recording contains none.
func (r *Recording) ProgramVersion(host string) (string, bool) {
	for _, l := range r.Process(host, 0) {
		if version, ok := strings.CutPrefix(l.Text, VersionIs); ok && l.Dir == Lifecycle {
			return version, true
		}
	}
	return "", false
}
