package effect

import "encoding/json"

// KindSession is the kind of Session.
const KindSession Kind = "app.session"

// Session returns the data that the application has passed to the run as a *SessionInfo.
type Session struct{}

// SessionInfo contains the data of the application for a run (std::app).
type SessionInfo struct {
	ID       string          `json:"id"`  // id of the run
	Cwd      string          `json:"cwd"` // directory to which the program's paths are relative
	Inputs   json.RawMessage `json:"inputs"`
	Metadata json.RawMessage `json:"metadata"`
	Render   []string        `json:"render,omitempty"` // media types that the application can display
}

// Kind returns KindSession.
func (*Session) Kind() Kind { return KindSession }
