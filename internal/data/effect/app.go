package effect

import "encoding/json"

// Tools of the application. KindAppList returns the tools. A call that needs approval, also of a
// tool of the program, is prepared and decided. KindAppCall performs it, and KindAppLeave reports
// that it is not performed, or elsewhere. Calls of the program's own tools are recorded by requests
// of their own.
const (
	KindAppList    Kind = "tool.list"
	KindAppPrepare Kind = "tool.prepare"
	KindAppDecide  Kind = "tool.decide"
	KindAppLeave   Kind = "tool.leave"
	KindAppCall    Kind = "tool.call"
	KindAppMock    Kind = "tool.mock"
	KindAuditCall  Kind = "audit.call"
	KindAuditDone  Kind = "audit.done"
)

// AppList returns the tools of the application that a caller may use as an *AppOffer.
type AppList struct {
	Only     *[]string `json:"only,omitempty"`  // filters as in `app_tools`; nil: all
	Reserved []string  `json:"taken,omitempty"` // names that are the program's own tools
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
	// the call must be prepared, because it may need approval
	Approve bool `json:"approve,omitempty"`
}

// AppAsk is a requested call.
type AppAsk struct {
	CallID  string          `json:"call_id"`
	Tool    string          `json:"tool"`
	Version int64           `json:"version"`
	Args    json.RawMessage `json:"args"`
	By      string          `json:"by"`
	Route   string          `json:"route"`
	Own     *OwnTool        `json:"own,omitempty"`     // nil: of the application
	Missing bool            `json:"missing,omitempty"` // it does not exist for the caller
}

// OwnTool holds additional facts about a tool that is not the application's. The zero value is an
// unknown tool.
type OwnTool struct {
	Name        string `json:"name"`            // as models see it
	Owner       string `json:"owner,omitempty"` // "program", or "mcp:SERVER"
	Description string `json:"description,omitempty"`
}

// AppPrepare prepares a call and returns an *AppQuestion.
type AppPrepare struct{ AppAsk }

// AppQuestion is the question to the application before a call; without a payload there is none.
type AppQuestion struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Within  float64         `json:"within,omitempty"` // seconds
	ID      int64           `json:"id"`               // of the prepared call
}

// AppDecide passes on the application's answer about a prepared call, as in an Answer, or why there
// is none. It returns an *AppVerdict.
type AppDecide struct {
	CallID     string          `json:"call_id"`
	Answer     json.RawMessage `json:"answer,omitempty"`
	Typed      bool            `json:"typed,omitempty"`
	By         string          `json:"by,omitempty"`
	Name       string          `json:"name,omitempty"`
	Unanswered string          `json:"nobody,omitempty"`
	Late       bool            `json:"late,omitempty"`
}

// AppVerdict is the decision on a call.
type AppVerdict struct {
	Outcome string          `json:"outcome,omitempty"` // why the call is not made: denied, arguments
	Error   string          `json:"error,omitempty"`
	Stop    bool            `json:"stop,omitempty"`    // the call of the agent that made it ends
	Args    json.RawMessage `json:"args,omitempty"`    // replaces the original arguments
	Changed json.RawMessage `json:"changed,omitempty"` // these, as shown
	Respond bool            `json:"respond,omitempty"` // Output is given in the tool's place
	Output  json.RawMessage `json:"output,omitempty"`
	Decided *AppDecided     `json:"decided,omitempty"` // nil where nothing had to be
}

// AppDecided is a decision on a call, for records.
type AppDecided struct {
	Decision string `json:"decision"` // allow, deny or respond
	Scope    string `json:"scope,omitempty"`
	Actor    Actor  `json:"actor"`
	MS       int64  `json:"ms"` // that it took
	Reason   string `json:"reason,omitempty"`
	// ArgsSHA256 is the arguments that were approved of, ExecutedSHA256 those with which the
	// tool is called; "" when it is not.
	ArgsSHA256     string `json:"args_sha256"`
	ExecutedSHA256 string `json:"executed_sha256,omitempty"`
}

// AppLeave reports that a prepared call is not performed by an AppCall, or if it is cancelled, not
// at all.
type AppLeave struct {
	ID        int64 `json:"id"`
	Cancelled bool  `json:"cancelled,omitempty"`
}

// AuditCall records the start of a call that the application does not perform. It returns an
// *AuditCalled.
type AuditCall struct{ AppAsk }

// AuditCalled is the number of a recorded call; 0 and an error mean that it could not be recorded
// and must not start.
type AuditCalled struct {
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
}

// AuditDone records the end of a call that an AuditCall has recorded.
type AuditDone struct {
	ID          int64  `json:"id"`
	Outcome     string `json:"outcome"`
	Error       string `json:"error,omitempty"`
	OutputBytes int64  `json:"output_bytes"`
}

// AppCall performs a prepared call and returns an *AppResult.
type AppCall struct{ AppAsk }

// AppResult is what became of a call.
type AppResult struct {
	Outcome    string          `json:"outcome"` // ok, failed, arguments, not_found, denied, timeout, cancelled, unavailable, limit
	Output     json.RawMessage `json:"output,omitempty"`
	Error      string          `json:"error,omitempty"`
	Stop       bool            `json:"stop,omitempty"`    // the call of the agent that made it ends
	Changed    json.RawMessage `json:"changed,omitempty"` // the arguments, as shown, when the application has changed them
	DurationMS int64           `json:"duration_ms"`
	// In a test: Mocked means that the test answers instead of the tool, and Output holds the
	// arguments; Unplayed that the tool has external effects and is not mocked.
	Mocked   bool `json:"mocked,omitempty"`
	Unplayed bool `json:"unplayed,omitempty"`
	Outside  bool `json:"outside,omitempty"` // it has reached outside, since the test is recorded
}

// AppMock has a test answer the calls of a tool of the application, "x" or "x@2", which need
// not be there.
type AppMock struct {
	Name string `json:"name"`
}

// Kind is KindAppList.
func (*AppList) Kind() Kind { return KindAppList }

// Kind is KindAppPrepare.
func (*AppPrepare) Kind() Kind { return KindAppPrepare }

// Kind is KindAppDecide.
func (*AppDecide) Kind() Kind { return KindAppDecide }

// Kind is KindAppLeave.
func (*AppLeave) Kind() Kind { return KindAppLeave }

// Kind is KindAppCall.
func (*AppCall) Kind() Kind { return KindAppCall }

// Kind is KindAppMock.
func (*AppMock) Kind() Kind { return KindAppMock }

// Kind is KindAuditCall.
func (*AuditCall) Kind() Kind { return KindAuditCall }

// Kind is KindAuditDone.
func (*AuditDone) Kind() Kind { return KindAuditDone }
