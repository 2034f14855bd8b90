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

// defaultLines is the number of lines in a page if the client sets no limit.
const defaultLines = 100

// queryAudit returns the lines of the audit log that follow the record with a given number.
func queryAudit(r *request, p *querying) (any, error) {
	log := r.srv.config.Audit
	if log == nil {
		return nil, failure(codeNoAudit, "the server has no audit log: start it with --audit <file>")
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
	defer func() { _ = f.Close() }() // the file was opened only for reading
	limit := p.Limit
	if limit == 0 {
		limit = defaultLines
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
		case l.Seq > head.Seq || r.ctx.Err() != nil: // another record was written in the meantime
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

// mostMarks is the maximum number of positions in marks.
const mostMarks = 64

// marks stores the positions in the audit log at which pages have ended. The key is the number of
// the last record of the page. The next page is read from this position instead of from the start
// of the log.
type marks struct {
	mu        sync.Mutex
	positions map[int64]audit.Position
	order     []int64 // numbers of the records in the order in which their positions were set
}

// at returns the position after the record number. If that position is not stored, it returns the
// start of the log.
func (m *marks) at(number int64) audit.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.positions[number]
}

func (m *marks) set(number int64, at audit.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.positions == nil {
		m.positions = map[int64]audit.Position{}
	}
	if _, replaces := m.positions[number]; !replaces {
		m.order = append(m.order, number)
	}
	m.positions[number] = at
	if len(m.order) > mostMarks {
		delete(m.positions, m.order[0])
		m.order = m.order[1:]
	}
}

// auditor records the tool calls that clients make without a session. It returns nil if there is no
// audit log.
func (s *Server) auditor() tool.Auditor {
	if s.config.Audit == nil {
		return nil
	}
	return s.config.Audit
}
