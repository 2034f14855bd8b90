package serve

import (
	"fmt"
	"os"

	"github.com/concerto-lang/concerto/internal/audit"
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

// queryAudit gives lines of the audit log as they stand, those after a number.
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
	for l, err := range audit.Lines(f, log.Path()) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("the audit log: %w", err)
		case l.Seq > head.Seq || r.ctx.Err() != nil: // it grows
			return out, nil
		case l.Seq <= p.After || !only.Match(l):
		case len(out.Lines) == limit:
			out.Next = last
			return out, nil
		default:
			out.Lines = append(out.Lines, string(l.Text))
			last = l.Seq
		}
		if l.Seq == head.Seq {
			break
		}
	}
	return out, nil
}

// auditor records calls of clients without a session; nil without a log.
func (s *Server) auditor() tool.Auditor {
	if s.config.Audit == nil {
		return nil
	}
	return s.config.Audit
}
