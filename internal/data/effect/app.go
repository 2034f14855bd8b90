package effect

import "encoding/json"

// The tools of the application: KindAppList reads which it has. A call that is to be
// approved of, also one of the program's own tools, is prepared and decided about.
// KindAppCall makes it, and KindAppLeave says that it is not made, or elsewhere. The calls
// of the program's own tools are recorded by requests of their own.
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
	Approve     bool            `json:"approve,omitempty"` // a call is to be prepared: it may have to be approved of
}

// AppAsk is a call that somebody wants.
type AppAsk struct {
	CallID  string          `json:"call_id"`
	Tool    string          `json:"tool"`
	Version int64           `json:"version"`
	Args    json.RawMessage `json:"args"`
	By      string          `json:"by"`
	Route   string          `json:"route"`
	Own     *OwnTool        `json:"own,omitempty"`     // nil: of the application
	Missing bool            `json:"missing,omitempty"` // it is not there for who calls it
}

// OwnTool is what else is known of a tool that the application does not have. The zero
// one is known to nobody.
type OwnTool struct {
	Name        string `json:"name"`            // as models see it
	Owner       string `json:"owner,omitempty"` // "program", or "mcp:SERVER"
	Description string `json:"description,omitempty"`
}

// AppPrepare looks at a call, and gives an *AppQuestion.
type AppPrepare struct{ AppAsk }

// AppQuestion is what the application is to be asked before a call; without a payload
// nothing.
type AppQuestion struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Within  float64         `json:"within,omitempty"` // seconds
	ID      int64           `json:"id"`               // of the prepared call
}

// AppDecide tells what the application has answered about a prepared call, as in an
// Answer, or why there is no answer. It gives an *AppVerdict.
type AppDecide struct {
	CallID string          `json:"call_id"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Typed  bool            `json:"typed,omitempty"`
	By     string          `json:"by,omitempty"`
	Name   string          `json:"name,omitempty"`
	Nobody string          `json:"nobody,omitempty"`
	Late   bool            `json:"late,omitempty"`
}

// AppVerdict is what was decided about a call.
type AppVerdict struct {
	Outcome string          `json:"outcome,omitempty"` // why the call is not made: denied, arguments
	Error   string          `json:"error,omitempty"`
	Stop    bool            `json:"stop,omitempty"`    // the call of the agent that made it ends
	Args    json.RawMessage `json:"args,omitempty"`    // in place of those that it had
	Changed json.RawMessage `json:"changed,omitempty"` // these, as shown
	Respond bool            `json:"respond,omitempty"` // Output is given in the tool's place
	Output  json.RawMessage `json:"output,omitempty"`
	Decided *AppDecided     `json:"decided,omitempty"` // nil where nothing had to be
}

// AppDecided is a decision about a call, for records of it.
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

// AppLeave says that a prepared call is not made by an AppCall, or, when it is cancelled,
// not at all.
type AppLeave struct {
	ID        int64 `json:"id"`
	Cancelled bool  `json:"cancelled,omitempty"`
}

// AuditCall records that a call begins, which the application does not make. It gives an
// *AuditCalled.
type AuditCall struct{ AppAsk }

// AuditCalled is the number of a recorded call; 0 and an error mean that it could not be
// recorded, so that it must not begin.
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
	// In a test: Mocked says that the test answers in the tool's place, and Output are the
	// arguments; Unplayed that the tool reaches outside, and nobody mocks it.
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
