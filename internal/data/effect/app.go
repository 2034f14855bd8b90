package effect

import "encoding/json"

// The kinds of requests for tools of the application. KindAppList returns the tools. A call that
// needs approval, also of a program's own tool, is prepared (KindAppPrepare) and decided
// (KindAppDecide). KindAppCall performs a prepared call. KindAppLeave reports that a prepared call
// is not performed, or is performed in another way. KindAuditCall and KindAuditDone record calls of
// the program's own tools.
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

// AppList returns the application's tools that a caller may use, as an *AppOffer.
type AppList struct {
	Only     *[]string `json:"only,omitempty"`  // filters as in `app_tools`; nil means all tools
	Reserved []string  `json:"taken,omitempty"` // names of the program's own tools
}

// AppOffer contains the tools that the application currently offers.
type AppOffer struct {
	Tools []AppTool `json:"tools"`
}

// AppTool is a tool of the application.
type AppTool struct {
	Name        string          `json:"name"` // name for models and hosts, with the version if there are several versions
	Tool        string          `json:"tool"`
	Version     int64           `json:"version"`
	Description string          `json:"description"`
	Category    string          `json:"category,omitempty"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON Schema
	Sequential  bool            `json:"sequential,omitempty"`
	// a call must be prepared, because it may need approval
	Approve bool `json:"approve,omitempty"`
}

// AppAsk describes a requested call of a tool.
type AppAsk struct {
	CallID  string          `json:"call_id"`
	Tool    string          `json:"tool"`
	Version int64           `json:"version"`
	Args    json.RawMessage `json:"args"`
	By      string          `json:"by"`
	Route   string          `json:"route"`
	Own     *OwnTool        `json:"own,omitempty"`     // nil if the tool belongs to the application
	Missing bool            `json:"missing,omitempty"` // the caller may not use a tool of this name
}

// OwnTool contains properties of a tool that does not belong to the application. The zero value
// means that the properties are unknown.
type OwnTool struct {
	Name        string `json:"name"`            // name for models
	Owner       string `json:"owner,omitempty"` // "program", or "mcp:SERVER"
	Description string `json:"description,omitempty"`
}

// AppPrepare prepares a call. It returns an *AppQuestion.
type AppPrepare struct{ AppAsk }

// AppQuestion is the approval request for a prepared call. Without a payload, no approval is
// needed.
type AppQuestion struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Within  float64         `json:"within,omitempty"` // time limit of the answer in seconds; 0 means none
	ID      int64           `json:"id"`               // number of the prepared call
}

// AppDecide passes the application's answer about a prepared call, with the members of an Answer,
// or the reason why there is none. It returns an *AppVerdict.
type AppDecide struct {
	CallID     string          `json:"call_id"`
	Answer     json.RawMessage `json:"answer,omitempty"`
	Typed      bool            `json:"typed,omitempty"`
	By         string          `json:"by,omitempty"`
	Name       string          `json:"name,omitempty"`
	Unanswered string          `json:"nobody,omitempty"`
	Late       bool            `json:"late,omitempty"`
}

// AppVerdict is the decision about a prepared call.
type AppVerdict struct {
	Outcome string          `json:"outcome,omitempty"` // reason why the call is not made: denied or arguments; "" if it is made
	Error   string          `json:"error,omitempty"`
	Stop    bool            `json:"stop,omitempty"`    // the call of the agent that made this call ends too
	Args    json.RawMessage `json:"args,omitempty"`    // replace the original arguments
	Changed json.RawMessage `json:"changed,omitempty"` // the replaced arguments in the form for display
	Respond bool            `json:"respond,omitempty"` // Output is the result, and the tool is not called
	Output  json.RawMessage `json:"output,omitempty"`
	Decided *AppDecided     `json:"decided,omitempty"` // nil if no decision was necessary
}

// AppDecided describes the decision about a call for records.
type AppDecided struct {
	Decision string `json:"decision"` // allow, deny or respond
	Scope    string `json:"scope,omitempty"`
	Actor    Actor  `json:"actor"`
	MS       int64  `json:"ms"` // time until the decision in milliseconds
	Reason   string `json:"reason,omitempty"`
	// ArgsSHA256 is the hash of the approved arguments. ExecutedSHA256 is the hash of the arguments
	// with which the tool is called; "" if it is not called.
	ArgsSHA256     string `json:"args_sha256"`
	ExecutedSHA256 string `json:"executed_sha256,omitempty"`
}

// AppLeave reports that a prepared call is not performed by an AppCall. If Cancelled is set, it is
// not performed at all.
type AppLeave struct {
	ID        int64 `json:"id"`
	Cancelled bool  `json:"cancelled,omitempty"`
}

// AuditCall records the start of a call that the application does not perform. It returns an
// *AuditCalled.
type AuditCall struct{ AppAsk }

// AuditCalled contains the number of a recorded call. If the call could not be recorded, the number
// is 0, the request fails, and the call must not start.
type AuditCalled struct {
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
}

// AuditDone records the end of a call whose start an AuditCall has recorded.
type AuditDone struct {
	ID          int64  `json:"id"`
	Outcome     string `json:"outcome"`
	Error       string `json:"error,omitempty"`
	OutputBytes int64  `json:"output_bytes"`
}

// AppCall performs a prepared call. It returns an *AppResult.
type AppCall struct{ AppAsk }

// AppResult is the result of a call.
type AppResult struct {
	Outcome    string          `json:"outcome"` // ok, failed, arguments, not_found, denied, timeout, cancelled, unavailable, limit
	Output     json.RawMessage `json:"output,omitempty"`
	Error      string          `json:"error,omitempty"`
	Stop       bool            `json:"stop,omitempty"`    // the call of the agent that made this call ends too
	Changed    json.RawMessage `json:"changed,omitempty"` // the arguments for display, if the application has changed them
	DurationMS int64           `json:"duration_ms"`
	// Mocked and Unplayed are only set in tests. Mocked means that the test answers the call;
	// Output then contains the arguments. Unplayed means that the tool has external effects and is
	// not mocked.
	Mocked   bool `json:"mocked,omitempty"`
	Unplayed bool `json:"unplayed,omitempty"`
	Outside  bool `json:"outside,omitempty"` // the call was performed outside the test, because the test is being recorded
}

// AppMock makes a test answer the calls of a tool, named "x" or "x@2". The application need not
// have such a tool.
type AppMock struct {
	Name string `json:"name"`
}

// Kind returns KindAppList.
func (*AppList) Kind() Kind { return KindAppList }

// Kind returns KindAppPrepare.
func (*AppPrepare) Kind() Kind { return KindAppPrepare }

// Kind returns KindAppDecide.
func (*AppDecide) Kind() Kind { return KindAppDecide }

// Kind returns KindAppLeave.
func (*AppLeave) Kind() Kind { return KindAppLeave }

// Kind returns KindAppCall.
func (*AppCall) Kind() Kind { return KindAppCall }

// Kind returns KindAppMock.
func (*AppMock) Kind() Kind { return KindAppMock }

// Kind returns KindAuditCall.
func (*AuditCall) Kind() Kind { return KindAuditCall }

// Kind returns KindAuditDone.
func (*AuditDone) Kind() Kind { return KindAuditDone }
