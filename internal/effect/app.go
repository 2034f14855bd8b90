package effect

import "encoding/json"

// The tools of the application: KindAppList reads which it has. A call is prepared,
// decided about where the application is to be asked, and then made.
const (
	KindAppList    Kind = "tool.list"
	KindAppPrepare Kind = "tool.prepare"
	KindAppDecide  Kind = "tool.decide"
	KindAppCall    Kind = "tool.call"
)

// AppList asks which tools of the application somebody may call, and gives an
// *AppOffer.
type AppList struct {
	Only  *[]string `json:"only,omitempty"`  // filters as in `app_tools`; nil: all
	Taken []string  `json:"taken,omitempty"` // names that are the program's own tools
}

// AppOffer is what the application has to offer now.
type AppOffer struct {
	Tools []AppTool `json:"tools"`
}

// AppTool is a tool of the application.
type AppTool struct {
	Name        string          `json:"name"` // as models and hosts see it: with its version where there are several
	Tool        string          `json:"tool"`
	Version     int64           `json:"version"`
	Description string          `json:"description"`
	Category    string          `json:"category,omitempty"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON Schema
	Sequential  bool            `json:"sequential,omitempty"`
}

// AppAsk is a call that somebody wants of the application.
type AppAsk struct {
	CallID  string          `json:"call_id"`
	Tool    string          `json:"tool"`
	Version int64           `json:"version"`
	Args    json.RawMessage `json:"args"`
	By      string          `json:"by"`
	Route   string          `json:"route"`
}

// AppPrepare looks at a call, and gives an *AppQuestion.
type AppPrepare struct{ AppAsk }

// AppQuestion is what the application is to be asked before a call; a zero one is
// nothing.
type AppQuestion struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Within  float64         `json:"within,omitempty"` // seconds
}

// AppDecide tells what the application has answered about a prepared call: an answer,
// or why there is none.
type AppDecide struct {
	CallID string          `json:"call_id"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Nobody string          `json:"nobody,omitempty"`
	Late   bool            `json:"late,omitempty"`
}

// AppCall makes a call that has been prepared, and gives an *AppResult.
type AppCall struct{ AppAsk }

// AppResult is what became of a call.
type AppResult struct {
	Outcome    string          `json:"outcome"` // ok, failed, arguments, not_found, denied, timeout, cancelled, unavailable, limit
	Output     json.RawMessage `json:"output,omitempty"`
	Error      string          `json:"error,omitempty"`
	Stop       bool            `json:"stop,omitempty"`    // the call of the agent that made it ends
	Changed    json.RawMessage `json:"changed,omitempty"` // the arguments, as shown, when the application has changed them
	DurationMS int64           `json:"duration_ms"`
}

// Kind is KindAppList.
func (*AppList) Kind() Kind { return KindAppList }

// Kind is KindAppPrepare.
func (*AppPrepare) Kind() Kind { return KindAppPrepare }

// Kind is KindAppDecide.
func (*AppDecide) Kind() Kind { return KindAppDecide }

// Kind is KindAppCall.
func (*AppCall) Kind() Kind { return KindAppCall }
