package serve

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
)

type querying struct {
	SessionID string `json:"session_id,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	After     int64  `json:"after,omitempty"`
	Limit     int    `json:"limit,omitempty" min:"1" max:"10000"`
}

// usualLines is how many lines are given where no limit is.
const usualLines = 100

// queryAudit returns lines of the audit log as they stand, those after a number.
func queryAudit(r *request, p *querying) (any, error) {
	log := r.srv.config.Audit
	if log == nil {
		return nil, failure(codeNoAudit, "there is no audit log: start the server with --audit FILE")
	}
	head := log.Head()
	out := struct {
		Lines []string   `json:"lines"`
		Head  audit.Head `json:"head"`
		Next  int64      `json:"next,omitempty"`
	}{[]string{}, head, 0}
	f, err := os.Open(log.Path())
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read
	limit := p.Limit
	if limit == 0 {
		limit = usualLines
	}
	only := audit.Filter{Session: p.SessionID, Tool: p.Tool, Outcome: p.Outcome}
	last := p.After
	at := r.srv.marks.at(p.After)
	if _, err := f.Seek(at.Offset(), io.SeekStart); err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	for l, err := range audit.LinesFrom(f, log.Path(), at) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("the audit log: %w", err)
		case l.Seq > head.Seq || r.ctx.Err() != nil: // it grows
			return out, nil
		case l.Seq <= p.After || !only.Match(l):
		case len(out.Lines) == limit:
			out.Next = last
			r.srv.marks.set(last, at)
			return out, nil
		default:
			out.Lines = append(out.Lines, string(l.Text))
			last, at = l.Seq, l.At
		}
		if l.Seq == head.Seq {
			break
		}
	}
	return out, nil
}

// mostMarks bounds how many places are remembered.
const mostMarks = 64

// marks are the places in the audit log at which pages have ended, by the number of the
// last record before them: the next page is read from there, not from the log's start.
type marks struct {
	mu    sync.Mutex
	known map[int64]audit.Position
	order []int64 // as they were set
}

// at is where to read what comes after a number; the log's beginning where that is not
// known.
func (m *marks) at(number int64) audit.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[number]
}

func (m *marks) set(number int64, at audit.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[int64]audit.Position{}
	}
	if _, again := m.known[number]; !again {
		m.order = append(m.order, number)
	}
	m.known[number] = at
	if len(m.order) > mostMarks {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
}

// auditor records calls of clients without a session; nil without a log.
func (s *Server) auditor() tool.Auditor {
	if s.config.Audit == nil {
		return nil
	}
	return s.config.Audit
}
