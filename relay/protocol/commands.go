package protocol

import "encoding/json"

// SendInput is the data of run.send_input.
type SendInput struct {
	InputID string `json:"input_id" is:"required id" doc:"chosen by the sender; usually a UUID"`
	Text    string `json:"text" is:"required bytes=65536"`
	Actor   string `json:"actor,omitempty" is:"enum=web|cli|system"`
	TTLS    *int64 `json:"ttl_s,omitempty" is:"from=1 to=86400" doc:"how long it waits for an offline machine, default 900"`
	// A Concerto run has no terminal: the text is a message to one of its running hosts.
	Host      string `json:"host,omitempty" is:"bytes=256" doc:"of a Concerto run: the host that receives the text"`
	Workspace string `json:"workspace,omitempty" is:"bytes=256" doc:"of a Concerto run: the workspace in which the host works"`
}

// SendKeys is the data of run.send_keys.
type SendKeys struct {
	Keys string `json:"keys" is:"required bytes=65536"`
}

// Stop is the data of run.stop.
type Stop struct {
	Signal string `json:"signal,omitempty" is:"enum=term|kill" doc:"default term, followed by kill after grace_s"`
	GraceS *int64 `json:"grace_s,omitempty" is:"from=0 to=3600" doc:"default 10"`
	Actor  string `json:"actor,omitempty" is:"enum=web|cli|system"`
}

// Resize is the data of run.resize.
type Resize struct {
	Cols int64 `json:"cols" is:"required from=1 to=1000"`
	Rows int64 `json:"rows" is:"required from=1 to=1000"`
}

// Decide is the data of run.permission.approve and run.permission.deny.
type Decide struct {
	RequestID  string          `json:"request_id" is:"required id"`
	Actor      string          `json:"actor,omitempty" is:"enum=web|cli|system"`
	ArgsSHA256 string          `json:"args_sha256,omitempty" is:"sha256" doc:"of the displayed arguments; a mismatch is refused with args_changed"`
	Answer     json.RawMessage `json:"answer,omitempty"`
	Answers    json.RawMessage `json:"answers,omitempty" is:"object" doc:"the values, by the ids of the questions"`
	Text       string          `json:"text,omitempty" is:"bytes=65536" doc:"the reason"`
	Scope      string          `json:"scope,omitempty" is:"enum=once|session" doc:"default once; session covers the same operation with the same arguments"`
}

// Subscribe is the data of run.subscribe. Clients of protocol 1 use the fields RunID, Replace and
// IncludeOutput.
type Subscribe struct {
	Cursor        map[string]int64 `json:"cursor,omitempty" doc:"the last known seq of each run"`
	Rest          string           `json:"rest,omitempty" is:"enum=live|start|none" doc:"applies to runs that the cursor does not name"`
	Output        *bool            `json:"output,omitempty" doc:"false omits run.output"`
	RunID         string           `json:"run_id,omitempty" is:"id"`
	Replace       *bool            `json:"replace,omitempty"`
	IncludeOutput *bool            `json:"include_output,omitempty"`
}

// Unsubscribe is the data of run.unsubscribe.
type Unsubscribe struct {
	Runs []string `json:"runs,omitempty" is:"items=1000" doc:"all if omitted"`
}
