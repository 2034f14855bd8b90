package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Filter chooses records; its zero value chooses all. Outcome chooses the ends of
// calls that have it.
type Filter struct {
	Tool, Session, Outcome string
	Since                  time.Time
}

// Match says whether a record is chosen.
func (f Filter) Match(l Line) bool {
	if f.Session != "" && l.Run != f.Session || f.Tool != "" && l.subject().Tool != f.Tool {
		return false
	}
	if f.Outcome != "" && l.data().Outcome != f.Outcome {
		return false
	}
	if f.Since.IsZero() {
		return true
	}
	at, err := time.Parse(timeForm, l.Time)
	return err == nil && !at.Before(f.Since)
}

// data is what Show knows of the data of records.
type data struct {
	Args    json.RawMessage `json:"args"`
	Outcome string          `json:"outcome"`
	Error   string          `json:"error"`
	Millis  json.Number     `json:"duration_ms"`
	Torn    int64           `json:"torn_bytes"`
	// Of a decision.
	decided
	Approval *struct {
		Decision string `json:"decision"`
		Actor    Actor  `json:"actor"`
		Reason   string `json:"reason"`
	} `json:"approval"`
}

func (l Line) data() data {
	var d data
	_ = json.Unmarshal(l.Data, &d) // of another form: it says nothing
	return d
}

// Show writes the chosen records of a log for a person, one a line. It verifies what
// it reads, and ends with the first error.
func Show(w io.Writer, r io.Reader, name string, f Filter) error {
	for l, err := range Lines(r, name) {
		if err != nil {
			return err
		}
		if !f.Match(l) {
			continue
		}
		if _, err := fmt.Fprintln(w, l.String()); err != nil {
			return err
		}
	}
	return nil
}

// String is the record for a person.
func (l Line) String() string {
	s, d := l.subject(), l.data()
	if s.Effect > 0 {
		return l.decision(s, d)
	}
	run := l.Run
	if run == "" {
		run = "-" // of the process
	}
	parts := []string{l.Time, fmt.Sprint(l.Seq), run, l.Kind}
	if s.Tool != "" {
		parts = append(parts, fmt.Sprintf("%s@%d", s.Tool, s.Version))
	}
	if s.Call != "" {
		parts = append(parts, s.Call)
	}
	parts = append(parts, "by "+strings.TrimSpace(l.Actor.Type+" "+l.Actor.Name))
	if d.Args != nil {
		parts = append(parts, string(d.Args))
	}
	if a := d.Approval; a != nil {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s by %s %s", a.Decision, a.Actor.Type, a.Actor.Name)))
		if a.Reason != "" {
			parts = append(parts, fmt.Sprintf("(%q)", a.Reason))
		}
	}
	if d.Outcome != "" {
		parts = append(parts, d.Outcome, d.Millis.String()+" ms")
	}
	if d.Error != "" {
		parts = append(parts, fmt.Sprintf("%q", d.Error))
	}
	if d.Torn > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes of a torn line were cut", d.Torn))
	}
	return strings.Join(parts, "  ")
}
