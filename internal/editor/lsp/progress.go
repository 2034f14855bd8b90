package lsp

import (
	"encoding/json"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// progressAfter is the time after which the progress of the first check is shown.
const progressAfter = 300 * time.Millisecond

// progress shows the progress of a workspace's first check.
type progress struct {
	over  bool // the first check is done
	timer *time.Timer
	shown bool
}

var checkToken = json.RawMessage(`"concerto-check"`)

func (p *progress) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// begin starts the timer after which the progress is shown.
func (p *progress) begin(s *server) {
	if p.over || p.timer != nil || !deref(s.view.client.Window).WorkDoneProgress {
		return
	}
	p.timer = s.after(progressAfter, func() {
		if p.over {
			return
		}
		s.ask(protocol.MethodWindowWorkDoneProgressCreate, protocol.WorkDoneProgressCreateParams{Token: checkToken}, nil)
		s.notify(protocol.MethodProgress, protocol.ProgressParams{Token: checkToken, Value: protocol.WorkDoneProgressBegin{Kind: "begin", Title: "Checking the workspace"}})
		p.shown = true
	})
}

// end is called at the end of each check that was not cancelled.
func (p *progress) end(s *server) {
	if p.over {
		return
	}
	p.over = true
	p.stop()
	if p.shown {
		s.notify(protocol.MethodProgress, protocol.ProgressParams{Token: checkToken, Value: protocol.WorkDoneProgressEnd{Kind: "end"}})
	}
}
