package env

import "encoding/json"

// Session is what an application gives a run (std::app).
type Session struct {
	ID               string          // the run's
	Cwd              string          // absolute
	Inputs, Metadata json.RawMessage // JSON objects; nil for empty ones
	Render           []string        // what the application can show
}
