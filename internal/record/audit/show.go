package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Filter selects records. The zero value selects all. Session is the ID of a run, or of the
// conversation of a vendor's agent. If Outcome is set, it selects the ends of
// calls with this outcome.
type Filter struct {
	Tool, Session, Outcome string
	Since                  time.Time
}

// Match reports whether the filter selects a record.
func (f Filter) Match(l Line) bool {
	if f.Session != "" && l.Run != f.Session && l.data().Session != f.Session || f.Tool != "" && l.subject().Tool != f.Tool {
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

// data contains the members of a record's data that Show uses.
type data struct {
	Args    json.RawMessage `json:"args"`
	Outcome string          `json:"outcome"`
	Error   string          `json:"error"`
	Millis  json.Number     `json:"duration_ms"`
	Torn    int64           `json:"torn_bytes"`
	// Members of a decision.
	decisionData
	Approval *struct {
		Decision string `json:"decision"`
		Actor    Actor  `json:"actor"`
		Reason   string `json:"reason"`
	} `json:"approval"`
}

func (l Line) data() data {
	var d data
	_ = json.Unmarshal(l.Data, &d) // data of another form leaves d empty
	return d
}

// String formats the record for people.
func (l Line) String() string {
	s, d := l.subject(), l.data()
	if s.Effect > 0 || s.Line != "" || d.Decision != "" {
		return l.decisionText(s, d)
	}
	run := l.Run
	if run == "" {
		run = "-" // the record is about the log itself
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
