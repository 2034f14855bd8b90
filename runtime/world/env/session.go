package env

import "encoding/json"

// Session is the data that an application passes to a run (std::app).
type Session struct {
	ID               string          // of the run
	Cwd              string          // absolute
	Inputs, Metadata json.RawMessage // JSON objects; nil for empty ones
	Render           []string        // what the application can display
}
