// Package eventtext formats the events that the runtime and the library emit for people. Such
// events are emitted on channels like `listen:start`, `pipeline:complete`, `host:log` and
// `run:progress`.
package eventtext

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
)

// ProgressChannel is the channel of `run::progress`.
const ProgressChannel = "run:progress"

// UnhandledChannel is the channel of messages of hosts that nothing handles.
const UnhandledChannel = "listen:unhandled"

// Event is the text of an emit for people.
type Event struct {
	// Text replaces the payload. "" means that nothing is printed, because the live view or the
	// error of the run shows the event.
	Text string
	// Line is the text where neither shows the event, in a log. "" means Text.
	Line string
	// Asks means that Text is a question to a person, which a prompt shows too.
	Asks bool
	// Moved means that Text is progress, which the live view shows.
	Moved bool
	// Listed means that the permanent lines about hosts, or the log, show the event.
	Listed bool
}

// payload contains the members of all kinds of events.
type payload struct {
	Host        string
	Name        string
	Type        string
	Message     json.RawMessage // a text, or a complete message of a host
	Level       string
	Percent     *float64
	Question    string
	Description string
	Decision    string
	Error       string
	Tool        string
	Server      string
	Sent        string `json:"text"` // to a host
	Subject     struct{ Tool string }
	Queue       string
	Changes     []string
	Change      string
	Kind        string
	OK          *bool
	Commit      string
	details     details
	CallID      string `json:"call_id"`
	Done        *int64
	Of          *int64
	Window      string
	Status      string
	UsedPercent *float64 `json:"used_percent"`
	ResetsAt    string   `json:"resets_at"`
	Progress    float64
	Total       float64
}

// details contains the members of the events about what was refused, about gates, about limits of
// plans and about addresses that a person opens, and the whole payload.
type details struct {
	Address, Reason string
	Stage           string
	URL             string
	ID              json.RawMessage
	Gate            string
	Turn            int64
	Until           int64
	whole           []byte // the payload as JSON
}

// Read returns the text of an emit. ok is false if the emit does not come from the runtime or the
// library, or its payload has another form, because programs may emit on any channel.
func Read(channel string, data []byte) (Event, bool) {
	write := events[channel]
	var p payload
	if write == nil || json.Unmarshal(data, &p) != nil || json.Unmarshal(data, &p.details) != nil {
		return Event{}, false
	}
	p.details.whole = data
	return write(&p)
}

var events = map[string]func(*payload) (Event, bool){
	"listen:start":            ofHost,
	"listen:complete":         ofHost,
	"listen:error":            ofHost,
	"pipeline:start":          ofPipeline("starts"),
	"pipeline:stage_start":    ofPipeline("starts"),
	"pipeline:stage_complete": ofPipeline("ends"),
	"pipeline:complete":       ofPipeline("ends"),
	"pipeline:error":          ofPipeline("failed"),
	"audit:tool":              func(p *payload) (Event, bool) { return Event{}, p.Subject.Tool != "" },

	UnhandledChannel: func(p *payload) (Event, bool) {
		text := fmt.Sprintf("%s sent %s", p.Host, p.Type)
		about := summary(p.Message)
		if p.Type == hostmsg.Approval {
			about = request.Of(p.Message, nil).Summary()
		}
		if about != "" {
			text += ": " + about
		}
		return Event{Text: text, Listed: hostmsg.Lookup(p.Type).ByPerson()}, p.Host != "" && p.Type != ""
	},
	"listen:invalid": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s sent %s, which is not valid: %s", p.Host, p.Type, p.Error)}, p.Host != "" && p.Type != ""
	},
	"merge:gate": func(p *payload) (Event, bool) {
		if p.OK == nil || p.Queue == "" {
			return Event{}, false
		}
		result := "failed"
		if *p.OK {
			result = "passed"
		}
		return Event{Text: fmt.Sprintf("%s: the gate %s for %s", p.Queue, result, strings.Join(p.Changes, ", "))}, true
	},
	"merge:landed": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s: merged %s", p.Queue, strings.Join(p.Changes, ", "))}, p.Queue != "" && p.Commit != ""
	},
	"merge:failed": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s: %s %s: %s", p.Queue, p.Kind, p.Change, p.text())}, p.Queue != "" && p.Change != ""
	},
	"host:progress": func(p *payload) (Event, bool) {
		message := p.text()
		if p.Percent != nil {
			message = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", *p.Percent, message))
		}
		return Event{Text: message, Moved: true, Listed: true}, message != ""
	},
	"host:log": func(p *payload) (Event, bool) {
		message := p.text()
		if p.Level != "" {
			message = p.Level + ": " + message
		}
		return Event{Text: message}, p.text() != ""
	},
	"host:plan_limit": func(p *payload) (Event, bool) {
		message := fmt.Sprintf("the limit of %s is %s", p.Window, p.Status)
		if p.UsedPercent != nil {
			message += fmt.Sprintf(" (%.0f %% used)", *p.UsedPercent)
		}
		if p.ResetsAt != "" {
			message += ", resets at " + p.ResetsAt
		}
		return Event{Text: message}, p.Window != "" && p.Status != ""
	},
	"host:plan_wait": func(p *payload) (Event, bool) {
		until := time.UnixMilli(p.details.Until).UTC().Format(time.RFC3339)
		return Event{Text: fmt.Sprintf("%s waits until %s for a limit of its plan", p.Host, until)}, p.Host != "" && p.details.Until > 0
	},
	"host:plan_resumed": func(p *payload) (Event, bool) {
		return Event{Text: p.Host + " continues: the limit of its plan no longer applies"}, p.Host != ""
	},
	"host:question": func(p *payload) (Event, bool) {
		return Event{Text: p.Question, Asks: true, Listed: true}, p.Question != ""
	},
	"host:approval": func(p *payload) (Event, bool) {
		return Event{Text: request.Of(p.details.whole, nil).Summary(), Asks: true, Listed: true}, p.Description != ""
	},
	"host:decided": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s: %s: %s", p.Host, decisions[p.Decision], p.Description), Listed: true}, p.Host != "" && decisions[p.Decision] != ""
	},
	"host:refused": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s: refused: %s", p.Host, p.details.Reason), Listed: true}, p.Host != "" && p.details.Reason != ""
	},
	"host:repair": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s: asked again: %s", p.Host, p.Error)}, p.Host != "" && p.Error != ""
	},
	"host:gate": func(p *payload) (Event, bool) {
		text := fmt.Sprintf("%s: proved by %s (turn %d)", p.Host, p.details.Gate, p.details.Turn)
		if p.Error != "" {
			text = fmt.Sprintf("%s: not proved (turn %d): %s", p.Host, p.details.Turn, p.Error)
		}
		return Event{Text: text}, p.Host != "" && p.details.Gate != "" && p.details.Turn > 0
	},
	"host:undelivered": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s: a decision did not arrive: %s", p.Host, p.details.Reason)}, p.Host != "" && p.details.Reason != ""
	},
	"host:blocked": func(p *payload) (Event, bool) {
		return Event{Text: fmt.Sprintf("%s: blocked: %s", p.Host, p.details.Address)}, p.Host != "" && p.details.Address != ""
	},
	"tool:approval": func(p *payload) (Event, bool) {
		message := p.Tool
		if p.Description != "" {
			message += ": " + p.Description
		}
		return Event{Text: message, Asks: true}, p.Tool != "" && p.CallID != ""
	},
	"tool:progress": func(p *payload) (Event, bool) { return p.toolProgress(p.Tool), p.Tool != "" && p.CallID != "" },
	"mcp:progress": func(p *payload) (Event, bool) {
		return p.toolProgress(p.Server + "." + p.Tool), p.Server != "" && p.Tool != ""
	},
	"mcp:elicitation": func(p *payload) (Event, bool) {
		text := p.Server + ": " + p.text()
		if p.details.URL != "" {
			text += fmt.Sprintf(": open %s, at %s, in a browser, and answer yes", p.details.URL, hostOf(p.details.URL))
		}
		return Event{Text: text, Asks: true}, p.Server != "" && p.text() != ""
	},
	"mcp:elicitation_complete": func(p *payload) (Event, bool) {
		return Event{}, p.details.ID != nil
	},
	"host:steered": func(p *payload) (Event, bool) {
		return Event{Text: p.Host + " received: " + p.Sent}, p.Host != "" && p.Sent != ""
	},
	"run:unknown": func(p *payload) (Event, bool) {
		return Event{Text: "the outcome of " + p.Kind + " is unknown: retry, fail or done?", Asks: true}, p.Kind != ""
	},
	ProgressChannel: func(p *payload) (Event, bool) {
		if p.Done == nil || p.Of == nil {
			return Event{}, false
		}
		return Event{Text: strings.TrimSpace(progress(float64(*p.Done), float64(*p.Of)) + " " + p.text()), Moved: true}, true
	},
}

// toolProgress returns the progress of a call of a tool.
func (p *payload) toolProgress(tool string) Event {
	return Event{Text: strings.TrimSpace(tool + ": " + progress(p.Progress, p.Total) + " " + p.text())}
}

// hostOf returns the host of an address, or the address itself.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

var decisions = map[string]string{"allow": "allowed", "deny": "denied"}

func ofHost(p *payload) (Event, bool) { return Event{}, p.Host != "" }

// ofPipeline returns the function for an event of a pipeline or of one of its stages. The error of
// the run contains why one failed.
func ofPipeline(verb string) func(*payload) (Event, bool) {
	return func(p *payload) (Event, bool) {
		name := p.Name
		if p.details.Stage != "" {
			name += ": " + p.details.Stage
		}
		return Event{Line: name + " " + verb}, p.Name != ""
	}
}

// text returns the message if it is a text, otherwise "".
func (p *payload) text() string {
	var text string
	if json.Unmarshal(p.Message, &text) != nil {
		return ""
	}
	return text
}

// summary describes a complete message of a host without JSON: by its text, or otherwise by its
// members that are no lists or objects, sorted by name.
func summary(message json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil {
		return ""
	}
	for _, name := range []string{"message", "text", "question", "description"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return text
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := string(members[name])
		if name == "type" || value == "" || strings.ContainsAny(value[:1], "{[") {
			continue
		}
		var text string
		if json.Unmarshal(members[name], &text) == nil {
			value = text
		}
		parts = append(parts, name+" "+value)
	}
	return strings.Join(parts, ", ")
}

// Percent returns the progress in percent, or -1 if the total is unknown.
func Percent(done, of float64) float64 {
	if of <= 0 {
		return -1
	}
	return min(max(done/of, 0), 1) * 100
}

// Count formats progress as "3 of 12", or as "3" if the total is unknown.
func Count(done, of float64) string {
	if of <= 0 {
		return number(done)
	}
	return number(done) + " of " + number(of)
}

// progress formats progress with the percentage: "3 of 12 (25 %)".
func progress(done, of float64) string {
	if percent := Percent(done, of); percent >= 0 {
		return fmt.Sprintf("%s (%.0f %%)", Count(done, of), percent)
	}
	return Count(done, of)
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
