package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// decisionData contains the members of a decision's data that Show uses.
type decisionData struct {
	Channel  string          `json:"channel"`
	Asked    json.RawMessage `json:"asked"`
	Answer   json.RawMessage `json:"answer"`
	MS       json.Number     `json:"ms"`
	Path     []Actor         `json:"path"`
	Decision string          `json:"decision"`
	Reason   string          `json:"reason"`
	Tool     string          `json:"tool"`
	Call     string          `json:"call"`
	Session  string          `json:"session"`
	Passed   *bool           `json:"passed"` // of a gate
	Turn     int64           `json:"turn"`
	Agent    struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"agent"`
}

// maxShown limits the displayed part of a JSON text, in bytes.
const maxShown = 200

// short returns the start of a JSON text on one line.
func (d decisionData) short(text json.RawMessage) string {
	return utf8cut.Short(string(text), maxShown)
}

// decisionText formats the record of a decision for people.
func (l Line) decisionText(s subject, d data) string {
	parts := []string{l.Time, fmt.Sprint(l.Seq), l.Run, l.Kind}
	for _, about := range []string{s.Host, string(s.ID), d.Channel, d.Tool} {
		if about != "" && about != "null" {
			parts = append(parts, about)
		}
	}
	if s.Line != "" {
		parts = append(parts, "outside an exchange")
	}
	by := "by " + strings.TrimSpace(l.Actor.Type+" "+l.Actor.Name)
	if l.Actor.At != "" {
		by += " at " + l.Actor.At
	}
	parts = append(parts, by)
	var call struct {
		Args json.RawMessage `json:"args"`
	}
	if d.Passed != nil {
		var gate struct{ Gate string }
		_ = json.Unmarshal(d.Asked, &gate) // a record of another form has no gate
		result := fmt.Sprintf("not proved (turn %d)", d.Turn)
		if *d.Passed {
			result = fmt.Sprintf("proved by %s (turn %d)", gate.Gate, d.Turn)
		}
		parts, d.Asked = append(parts, result), nil
	}
	if l.Kind == "tool" && json.Unmarshal(d.Asked, &call) == nil {
		d.Asked = call.Args // omits the caller and the position of the call
	}
	if l.Kind == hostmsg.Approval {
		parts = append(parts, utf8cut.Short(request.Of(d.Asked, nil).Listing(), maxShown))
	} else if asked := d.short(d.Asked); asked != "null" && asked != "" {
		parts = append(parts, asked)
	}
	if d.Decision != "" {
		parts = append(parts, d.Decision)
	} else if answer := d.short(d.Answer); answer != "null" && answer != "" {
		parts = append(parts, "answered "+answer)
	}
	if len(d.Path) > 1 {
		var all []string
		for _, a := range d.Path {
			all = append(all, strings.TrimSpace(a.Type+" "+a.Name))
		}
		parts = append(parts, "after "+strings.Join(all, ", "))
	}
	for _, why := range []string{d.Reason, d.Error} {
		if why != "" {
			parts = append(parts, fmt.Sprintf("%q", why))
		}
	}
	for _, of := range [][2]string{{"call", d.Call}, {"session", d.Session}, {"agent", cmp.Or(d.Agent.Name, d.Agent.ID)}} {
		if of[1] != "" {
			parts = append(parts, of[0]+" "+of[1])
		}
	}
	return strings.Join(append(parts, d.MS.String()+" ms"), "  ")
}
