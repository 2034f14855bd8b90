package protocol

import (
	"encoding/json"
	"strings"
)

// The data of events. The struct tag `is` defines validation and the JSON Schemas. `required`
// applies to all messages. For commands there are also enum=A|B, bytes=N and chars=N (maximum),
// from=N and to=N, items=N (maximum), and the form of an id. An event may come from another
// program, so only the types of its fields are checked. The limits in the tags of events describe
// what hostd sends.

// Started is the data of run.started.
type Started struct {
	Tool        string `json:"tool" is:"required" doc:"the program: claude, codex, concerto, …"`
	Cwd         string `json:"cwd" is:"required" doc:"its working directory, with links resolved"`
	Command     string `json:"command" is:"required" doc:"its command line, redacted"`
	Title       string `json:"title,omitempty"`
	Source      string `json:"source,omitempty" is:"enum=pty|concerto|ndjson|acp" doc:"the origin of its events"`
	ParentRunID string `json:"parent_run_id,omitempty" is:"id" doc:"the run that started it"`
	Cols        *int64 `json:"cols,omitempty"`
	Rows        *int64 `json:"rows,omitempty"`
}

// Output is the data of run.output.
type Output struct {
	Stream string `json:"stream" is:"required enum=stdout|stderr"`
	Text   string `json:"text" is:"required bytes=32768" doc:"complete characters; an invalid byte is U+FFFD"`
	Off    *int64 `json:"off,omitempty" doc:"its offset in the raw log, in bytes"`
}

// AwaitingInput is the data of run.awaiting_input.
type AwaitingInput struct {
	Reason    string `json:"reason" is:"required enum=permission|choice|prompt|unknown"`
	Prompt    string `json:"prompt,omitempty" is:"chars=500"`
	RequestID string `json:"request_id,omitempty" is:"id"`
}

// Input is the data of run.input.
type Input struct {
	Actor        string `json:"actor" is:"required enum=web|cli|system"`
	InputID      string `json:"input_id" is:"required id"`
	TextRedacted string `json:"text_redacted" is:"required"`
	TextSHA256   string `json:"text_sha256,omitempty" doc:"of the raw UTF-8, in hexadecimal; absent for a text that was typed without echo"`
	By           string `json:"by,omitempty" doc:"the user"`
}

// The reasons of requests: the kind of answer that is expected.
const (
	ReasonPermission = "permission"
	ReasonChoice     = "choice"
	ReasonPrompt     = "prompt"
)

// PermissionRequested is the data of run.permission_requested.
type PermissionRequested struct {
	RequestID     string          `json:"request_id" is:"required id"`
	Reason        string          `json:"reason" is:"required enum=permission|choice|prompt|unknown"`
	Prompt        string          `json:"prompt" is:"required"`
	OpTool        string          `json:"op_tool,omitempty" doc:"the requested operation: bash, rpc.fs.write, …"`
	OpArgs        json.RawMessage `json:"op_args,omitempty" doc:"its arguments, redacted"`
	OpArgsSummary string          `json:"op_args_summary,omitempty" is:"chars=80"`
	ApproveText   string          `json:"approve_text,omitempty" doc:"the text that an approval writes to the terminal; for a choice, the text after its value"`
	DenyText      string          `json:"deny_text,omitempty" doc:"the text that a denial writes"`
	ArgsSHA256    string          `json:"args_sha256,omitempty" doc:"of the action; a decision may contain it"`
	Questions     []Question      `json:"questions,omitempty" is:"items=20" doc:"the questions to answer"`
	Risk          string          `json:"risk,omitempty" is:"enum=low|medium|high"`
	Diff          string          `json:"diff,omitempty" is:"bytes=65536"`
	ExpiresAt     string          `json:"expires_at,omitempty" is:"time"`
	From          *Origin         `json:"from,omitempty" doc:"its origin"`
	Redacted      bool            `json:"redacted,omitempty" doc:"secrets are replaced by marks: the request does not show everything that is decided"`
	Fresh         string          `json:"fresh,omitempty" doc:"a token of the machine's time, for the statement of a decision"`
}

// maxDiff is the maximum size of PermissionRequested.Diff, in bytes.
const maxDiff = 64 << 10

// cutNote is the last line of a diff that CutDiff has shortened.
const cutNote = "\\ the rest of the diff is left out: it is longer than 64 KiB\n"

// CutDiff shortens a diff for PermissionRequested. Its last line then states that.
func CutDiff(text string) string {
	if len(text) <= maxDiff {
		return text
	}
	text = text[:maxDiff-len(cutNote)]
	return text[:strings.LastIndexByte(text, '\n')+1] + cutNote
}

// Question is one of the questions of a request. The answers to several questions form an object
// with the values by question id.
type Question struct {
	ID         string          `json:"id" is:"required"`
	Question   string          `json:"question" is:"required"`
	Header     string          `json:"header,omitempty"`
	Kind       string          `json:"kind" is:"required enum=text|choice|multi|confirm|json"`
	Options    []Option        `json:"options,omitempty"`
	AllowOther bool            `json:"allow_other,omitempty"`
	Default    json.RawMessage `json:"default,omitempty"`
	Required   bool            `json:"required,omitempty"`
	Secret     bool            `json:"secret,omitempty" doc:"the answer is never stored, shown or logged"`
	Schema     json.RawMessage `json:"schema,omitempty" doc:"a JSON Schema of the answer"`
}

// Kinds of questions.
const (
	KindText    = "text"
	KindChoice  = "choice"
	KindMulti   = "multi"
	KindConfirm = "confirm"
	KindJSON    = "json"
)

// Option is one of the options of a question.
type Option struct {
	Value       json.RawMessage `json:"value" is:"required"`
	Label       string          `json:"label,omitempty"`
	Description string          `json:"description,omitempty"`
}

// Origin describes where a request comes from.
type Origin struct {
	Kind    string `json:"kind" is:"required enum=pty|rpc|emit|approval|question"`
	Channel string `json:"channel,omitempty"`
	Host    string `json:"host,omitempty"`
	File    string `json:"file,omitempty"`
	Line    *int64 `json:"line,omitempty"`
	// MessageID is the id under which run.listen has the host's message.
	MessageID string `json:"message_id,omitempty" doc:"of the host's message in run.listen"`
}

// Kinds of Origin for the requests of a run. A host's message has the kind FromQuestion or
// FromApproval depending on the form of its answer, whatever the message's type is.
const (
	FromTerminal = "pty"      // the text on the run's terminal asks
	FromEmit     = "emit"     // the program awaits an emit
	FromQuestion = "question" // a host awaits a value
	FromApproval = "approval" // a host or a tool awaits yes or no
)

// WantsValue reports whether a program or a host waits for a value and not for yes or no.
func (o *Origin) WantsValue() bool { return o.Kind == FromEmit || o.Kind == FromQuestion }

// PermissionResolved is the data of run.permission_resolved.
type PermissionResolved struct {
	RequestID    string          `json:"request_id" is:"required id"`
	Decision     string          `json:"decision" is:"required enum=approve|deny|answer|withdrawn|expired" doc:"answer for a question, approve and deny for every other request; deny also for a question that was declined"`
	Actor        string          `json:"actor,omitempty" is:"enum=web|cli|system|local"`
	By           string          `json:"by,omitempty"`
	Answer       json.RawMessage `json:"answer,omitempty" is:"bytes=4096" doc:"the value of a non-secret answer, redacted; for several questions an object. A longer value is {\"$truncated\": bytes, \"preview\": …}"`
	AnswerSHA256 string          `json:"answer_sha256,omitempty" doc:"of the value of a non-secret answer, canonicalized as in RFC 8785"`
	Reason       string          `json:"reason,omitempty"`
	Unknown      bool            `json:"unknown,omitempty" doc:"the request was closed after a decision of which it is unknown whether it took effect"`
}

// Decided is the data of run.decision.
type Decided struct {
	RequestID string          `json:"request_id,omitempty" is:"id" doc:"of the request, if the relay has received it"`
	Title     string          `json:"title" is:"required chars=500" doc:"what was requested, in one line, redacted"`
	Line      string          `json:"line,omitempty" is:"chars=500" doc:"the first line of the request's body, redacted"`
	Decision  string          `json:"decision" is:"required enum=approve|deny|answer|expired|withdrawn"`
	Actor     string          `json:"actor" is:"required enum=human|application|flag|agent|rule|default|timeout|host"`
	By        string          `json:"by,omitempty" doc:"the person, or the rule or the handler that decided"`
	Reason    string          `json:"reason,omitempty" doc:"redacted"`
	Answer    json.RawMessage `json:"answer,omitempty" is:"bytes=4096" doc:"as in run.permission_resolved"`
	Host      string          `json:"host,omitempty" doc:"the program's host that made the request"`
	MessageID string          `json:"message_id,omitempty" doc:"of the host's message in run.listen"`
}

// The reasons of Exited.
const (
	ExitedItself  = "exited"
	ExitedStopped = "stopped"
	ExitedLost    = "lost" // the end was not observed
)

// Exited is the data of run.exited.
type Exited struct {
	ExitCode int64  `json:"exit_code" is:"required" doc:"128 plus the number of the signal that terminated it; -1 if unknown"`
	Signal   string `json:"signal,omitempty"`
	Reason   string `json:"reason,omitempty" is:"enum=exited|stopped|lost"`
}

// Meta is the data of run.meta.
type Meta struct {
	Title     *string           `json:"title,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Structure json.RawMessage   `json:"structure,omitempty" doc:"the program's graph: the nodes and edges of concerto graph, and the drawing with their places. Each merge queue and workspace that the run uses is a node with a state, which the drawing does not contain"`
	Line      *Place            `json:"line,omitempty" doc:"the program's position"`
	Usage     *Usage            `json:"usage,omitempty"`
	Fleet     *Fleet            `json:"fleet,omitempty" doc:"the tasks of a run with workspaces, merge queues or more than three hosts"`
}

// MaxFleetTasks is the maximum number of tasks in a Fleet.
const MaxFleetTasks = 200

// Fleet describes the tasks of a run. A task is a workspace, or a host that works without one. The
// numbers also count the tasks that Tasks does not contain.
type Fleet struct {
	Working int64        `json:"working"`
	Merged  int64        `json:"merged"`
	Failed  int64        `json:"failed"`
	Total   int64        `json:"total"`
	Tasks   []FleetTask  `json:"tasks" is:"items=200" doc:"oldest first"`
	Queues  []FleetQueue `json:"queues"`
}

// FleetTask is a task of a run.
type FleetTask struct {
	Task    string   `json:"task" is:"required" doc:"the name of the workspace or of the host"`
	Agent   string   `json:"agent,omitempty" doc:"the host that worked on it last"`
	State   string   `json:"state" is:"required enum=open|working|idle|submitted|merged|failed|removed"`
	Note    string   `json:"note,omitempty" is:"chars=200" doc:"the queue, or why it failed"`
	Since   string   `json:"since,omitempty" is:"time" doc:"the beginning of the state"`
	CostUSD *float64 `json:"cost_usd,omitempty" doc:"of its exchanges so far; absent if it is unknown"`
	Last    string   `json:"last,omitempty" is:"chars=200" doc:"the last line of its progress"`
}

// FleetQueue is a merge queue of a run.
type FleetQueue struct {
	Name   string `json:"name" is:"required"`
	Queued int64  `json:"queued"`
	Tested int64  `json:"tested" doc:"of the batch in its gate"`
	Batch  int64  `json:"batch"`
	Merged int64  `json:"merged"`
	Failed int64  `json:"failed"`
}

// Place is a line in a file.
type Place struct {
	File string `json:"file" is:"required"`
	Line int64  `json:"line" is:"required"`
}

// Usage is what models and hosts have used in a run.
type Usage struct {
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	CostUSD   float64 `json:"cost_usd"`
}

// Emit is the data of run.emit.
type Emit struct {
	Channel   string          `json:"channel" is:"required"`
	Payload   json.RawMessage `json:"payload" is:"required bytes=65536" doc:"a longer value is {\"$truncated\": bytes, \"preview\": …}"`
	Awaited   bool            `json:"awaited" is:"required"`
	RequestID string          `json:"request_id,omitempty" is:"id"`
	Text      string          `json:"text,omitempty" doc:"of an event of the runtime: what it reports"`
}

// Phases of the event run.listen.
const (
	PhaseStart    = "start"
	PhaseMessage  = "message"
	PhaseReply    = "reply"
	PhaseComplete = "complete"
	PhaseError    = "error"
)

// Listen is the data of run.listen.
type Listen struct {
	ListenID    string          `json:"listen_id" is:"required"`
	Host        string          `json:"host" is:"required"`
	Phase       string          `json:"phase" is:"required enum=start|message|reply|complete|error"`
	MessageType string          `json:"message_type,omitempty" doc:"of the start: prompt, if the value is the prompt"`
	MessageID   string          `json:"message_id,omitempty"`
	Title       string          `json:"title,omitempty" doc:"of a call or an approval: what is done, such as Run a command; of an event of the runtime: what it reports"`
	Line        string          `json:"line,omitempty" doc:"what the title leaves open, such as the command"`
	Value       json.RawMessage `json:"value,omitempty" doc:"the message; of the start the prompt, a text"`
	Error       string          `json:"error,omitempty"`
	DurationMS  *int64          `json:"duration_ms,omitempty"`
}

// Resized is the data of run.resized.
type Resized struct {
	Cols int64  `json:"cols" is:"required"`
	Rows int64  `json:"rows" is:"required"`
	By   string `json:"by,omitempty"`
}

// Gap is the data of run.gap.
type Gap struct {
	From   int64  `json:"from" is:"required"`
	To     int64  `json:"to" is:"required"`
	Reason string `json:"reason" is:"required enum=spool_full|spool_lost|store_lost|source_lag|host_skipped"`
}

// OwnRefused is the data of run.refused. The action was refused to a process of the run itself, or
// to a command of a device, whose statement the machine did not accept.
type OwnRefused struct {
	Action    string `json:"action" is:"required enum=decide|input|keys|stop|resize|rpc"`
	RequestID string `json:"request_id,omitempty" is:"id" doc:"for a decision or an RPC"`
	ByRunID   string `json:"by_run_id,omitempty" is:"id" doc:"the run of the process: this one, or one that it started, directly or not; absent for a command of a device"`
	PID       int64  `json:"pid,omitempty"`
	Reason    string `json:"reason" is:"required"`
	Code      Code   `json:"code,omitempty" doc:"for a command of a device"`
	Device    string `json:"device,omitempty" is:"id" doc:"the device that the command names; it is proven unless the code is unknown_device or bad_signature"`
	After     int64  `json:"after,omitempty" doc:"with the code reordered: the counter of the device's last accepted input, which the next one must name"`
}

// Called is the data of tool.call.
type Called struct {
	RequestID string          `json:"request_id" is:"required id"`
	Tool      string          `json:"tool" is:"required"`
	Actor     string          `json:"actor" is:"required enum=local|web|cli|system"`
	Args      json.RawMessage `json:"args" is:"required bytes=16384" doc:"redacted"`
}

// Returned is the data of tool.result.
type Returned struct {
	RequestID  string          `json:"request_id" is:"required id"`
	Tool       string          `json:"tool" is:"required"`
	Actor      string          `json:"actor" is:"required enum=local|web|cli|system"`
	OK         bool            `json:"ok" is:"required"`
	DurationMS int64           `json:"duration_ms" is:"required"`
	Result     json.RawMessage `json:"result,omitempty" is:"bytes=16384" doc:"never the content of a file"`
	Error      string          `json:"error,omitempty"`
}
