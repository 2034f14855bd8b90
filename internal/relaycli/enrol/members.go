package enrol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/seal"
)

func now() time.Time { return time.Now() }

// member is a member of the account in the output of commands.
type member struct {
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"` // if it was added here
	User    string `json:"user"`
	Role    string `json:"role,omitempty"`
	Page    string `json:"page,omitempty"`
	AddedAt string `json:"added_at"`
	This    bool   `json:"this"`           // this command line, or this machine
	Line    int64  `json:"line,omitempty"` // of the list, up to which a host has confirmed it; 0 if unknown
}

// describe returns the member in a sentence.
func (m *member) describe() string {
	text := m.Kind + " " + m.ID
	if m.Name != "" {
		text = fmt.Sprintf("%s (%s)", display(m.Name), text)
	}
	return text + " of " + display(m.User)
}

// warning returns what a question about the removal of the member must mention, or "".
func (m *member) warning(self string) string {
	switch {
	case m.ID == self:
		return ", which is this command line"
	case m.Kind == seal.Host:
		return ": it then performs no signed commands"
	}
	return ""
}

// rosterLine is what commands show of a line of a roster.
type rosterLine struct {
	N    int64  `json:"n"`
	At   string `json:"at"`
	Kind string `json:"kind"`
	By   string `json:"by"`
	Body struct {
		ID   string `json:"id"`
		Kind string `json:"kind"`
		User string `json:"user"`
		Role string `json:"role"`
	} `json:"body"`
}

func (l *rosterLine) String() string {
	text := fmt.Sprintf("line %d, %s: %s", l.N, l.At, l.Kind)
	if l.Body.ID != "" {
		text += " " + l.Body.ID
	}
	if l.Body.User != "" {
		text += fmt.Sprintf(" (%s %s of %s)", l.Body.Role, l.Body.Kind, display(l.Body.User))
	}
	return text + ", by " + l.By
}

// linesOf decodes the lines of a verified roster.
func linesOf(r *seal.Roster) (all []rosterLine, err error) {
	for text := range bytes.Lines(r.Text()) {
		var l rosterLine
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// members returns the present members of the account.
func (p *party) members() ([]member, error) {
	names := map[string]string{}
	self := ""
	if p.device != nil {
		self = p.device.ID
		var err error
		if names, err = p.device.Names(); err != nil {
			return nil, err
		}
	}
	r := p.roster()
	lines, err := linesOf(r)
	if err != nil {
		return nil, err
	}
	added := map[string]string{}
	for _, l := range lines {
		added[l.Body.ID] = l.At // a host that was removed and added again has the later time
	}
	var all []member
	for _, m := range r.Members() {
		all = append(all, member{m.Kind, m.ID, names[m.ID], m.User, m.Role, m.Page, added[m.ID], m.ID == self || m.Kind == seal.Host && m.ID == p.id.MachineID, 0})
	}
	return all, nil
}

// addConfirmations adds to the hosts which line of the list they have confirmed at the server.
func (p *party) addConfirmations(ctx context.Context, all []member) {
	s, err := newServer(p.id)
	if err != nil || p.device == nil {
		return // the server is not set, which the list reports
	}
	for i := range all {
		if m := &all[i]; m.Kind == seal.Host {
			m.Line, _ = p.device.ConfirmedLine(ctx, s, m.ID) // without an answer, it stays unknown
		}
	}
}

func printMembers(a *console.Console, all []member) error {
	rows := [][]string{{"KIND", "ID", "NAME", "USER", "ROLE", "PAGE", "ADDED", "", ""}}
	for _, m := range all {
		at := m.AddedAt
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			at = formatTime(t)
		}
		this := " "
		if m.This {
			this = "this one"
		}
		line := ""
		if m.Line > 0 {
			line = fmt.Sprint("confirmed line ", m.Line)
		}
		rows = append(rows, []string{m.Kind, m.ID, display(m.Name), display(m.User), m.Role, m.Page, at, this, line})
	}
	return console.Table(a.Stdout, rows)
}

// refreshIfPossible reads the server's new lines. If the server is not set or does not respond, it
// prints that the list may be old.
func (p *party) refreshIfPossible(ctx context.Context) error {
	if p.device == nil {
		return nil // hostd reads them
	}
	s, err := newServer(p.id)
	if err == nil {
		err = p.refresh(ctx, s)
	}
	if err == nil || errors.As(device.ForkError(err), new(*console.UsageError)) && s != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "concerto-relay: the list may be old: %v\n", err)
	return nil
}
