package runtime

import (
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// auditor returns the auditor that records the tool calls of the run, or nil without an audit log.
func (r *Runtime) auditor() tool.Auditor {
	if r.audit == nil {
		return nil
	}
	return recorder{r}
}

// recorder writes records to the audit log and passes each record to the application.
type recorder struct{ r *Runtime }

var _ tool.CallFinder = recorder{}

// Contains reports whether the log contains a record of a call.
func (x recorder) Contains(run, kind, call string) bool {
	return audit.HasRecord(x.r.audit, run, kind, call)
}

// Append writes a record.
func (x recorder) Append(record audit.Record) (audit.Line, error) {
	line, err := x.r.audit.Append(record)
	if err == nil {
		x.r.emitToolEvent(tool.AuditChannel, line.Text)
	}
	return line, err
}
