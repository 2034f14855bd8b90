//go:build !js

package adapter

import (
	"encoding/json"
	"slices"
)

// claudePieces are the pieces of text that the program has received and Claude Code may retract.
// It retracts lines of the type assistant, by their UUIDs. The pieces of a line precede it, and
// the events that contain them have other UUIDs. The member message of a piece is therefore the
// UUID of the first event with a piece of the line, or that of the line if it was not streamed;
// claudePieces maps the UUIDs of lines to these.
type claudePieces struct {
	Piece string                 // UUID of the first event since the last line; "" for none
	Lines map[string]claudePiece // by the UUID of the line
	Lost  []string               // as Piece, of messages that ended before their line
}

// claudePiece describes the pieces of a line.
type claudePiece struct {
	ID    string // their member message
	Reply string // ID of the reply to which they belong
}

// pieceOf returns the member message of a piece in an event with a UUID.
func (p *claudePieces) pieceOf(event string) string {
	if p.Piece == "" {
		p.Piece = event
	}
	return p.Piece
}

// abandon notes that no line follows the pieces so far: the model has refused, or a further message
// begins.
func (p *claudePieces) abandon() {
	if p.Piece != "" {
		p.Lost = append(p.Lost, p.Piece)
		p.Piece = ""
	}
}

// complete notes to which line the pieces with an ID belong. A version without UUIDs retracts
// nothing.
func (p *claudePieces) complete(line, reply, id string) {
	if line == "" || id == "" {
		return
	}
	if p.Lines == nil {
		p.Lines = map[string]claudePiece{}
	}
	p.Lines[line] = claudePiece{id, reply}
}

// claudeRetracts retracts the pieces of lines, whose list may be absent, and those that no line has
// completed. Without isFinal, it retracts nothing if the list is empty. Lines that were retracted
// before, and those without a text, have no pieces.
func claudeRetracts(c *claude, s *Output, lines json.RawMessage, isFinal bool) {
	var ids []string
	if json.Unmarshal(lines, &ids) != nil {
		ids = nil // a list of another form names no lines
	}
	if len(ids) == 0 && !isFinal {
		return
	}
	gone := c.Pieces.Lost
	c.Pieces.Lost = nil
	for _, id := range ids {
		p, known := c.Pieces.Lines[id]
		if !known {
			continue
		}
		delete(c.Pieces.Lines, id)
		if !slices.Contains(gone, p.ID) {
			gone = append(gone, p.ID)
		}
		if p.Reply == c.TextOf {
			c.Text, c.TextOf = "", ""
		}
	}
	if len(gone) > 0 {
		s.retract(gone)
	}
}

// claudeFallsBack handles the report that another model answers instead of one that has refused.
// The texts of a subagent are no pieces.
func claudeFallsBack(c *claude, s *Output, m *claudeLine) {
	var line struct {
		Scope     string          `json:"scope"`
		Retracted json.RawMessage `json:"retracted_message_uuids"`
	}
	_ = json.Unmarshal(m.line, &line) // members with the wrong type retract nothing
	if !c.isForeign() {
		claudeRetracts(c, s, line.Retracted, line.Scope != "local")
	}
	c.warnsUser(s, m)
}
