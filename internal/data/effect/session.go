package effect

import "encoding/json"

// KindSession reads what the application that started the run has given it.
const KindSession Kind = "app.session"

// Session returns what the application has passed to the run as a *SessionInfo.
type Session struct{}

// SessionInfo is a run as its application sees it (std::app).
type SessionInfo struct {
	ID       string          `json:"id"`  // of the run
	Cwd      string          `json:"cwd"` // where its relative paths start
	Inputs   json.RawMessage `json:"inputs"`
	Metadata json.RawMessage `json:"metadata"`
	Render   []string        `json:"render,omitempty"` // what the application can show
}

// Kind is KindSession.
func (*Session) Kind() Kind { return KindSession }
