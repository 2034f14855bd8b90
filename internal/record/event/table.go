package event

import "github.com/concerto-lang/concerto/internal/data/effect"

// Kind is a kind of event.
type Kind string

// The kinds of events.
const (
	Run      Kind = "run"      // the run with its first task
	Task     Kind = "task"     // another task
	Pipeline Kind = "pipeline" // a run of a pipeline
	Stage    Kind = "stage"    // a stage of a pipeline
	Listen   Kind = "listen"   // a task listens to a host
	Handler  Kind = "handler"  // a handler of a listen handles a message
	Agent    Kind = "agent"    // a call of an agent, with all rounds of tool calls and repairs
	Model    Kind = "model"    // an attempt at a model
	Retry    Kind = "retry"    // an attempt at a model or a decorated function is repeated
	Fallback Kind = "fallback" // another connection is used for the call
	Repair   Kind = "repair"   // an invalid reply is repaired, or requested again
	Tool     Kind = "tool"     // a tool call of an agent or host
	MCP      Kind = "mcp"      // a call of an MCP server
	HTTP     Kind = "http"
	Command  Kind = "command"
	Exchange Kind = "exchange" // an exchange with a host
	Message  Kind = "message"  // a message of a host that needs no answer
	Question Kind = "question" // a question of a host
	Approval Kind = "approval" // a request for permission, of a host or for a tool call
	Await    Kind = "await"    // an awaited emit
	Emit     Kind = "emit"
	Print    Kind = "print"
	Log      Kind = "log"
	Timer    Kind = "timer"
	Store    Kind = "store"
	File     Kind = "file"
	Work     Kind = "workspace"
	Request  Kind = "request"  // an effect that is a part of another item, or of none
	Decision Kind = "decision" // a decision on a request of a host, a tool call or an awaited emit
	Error    Kind = "error"    // the error with which the run fails
)

// Info is a row of the table of kinds.
type Info struct {
	Kind Kind
	// Item means that reports and exporters show the kind. The others are shown as a part of an
	// item.
	Item bool
	// Named describes Event.Name.
	Named string
	// Effects contains the kinds of effects that the kind reports. The request and the result of
	// the effect are in Event.Request and Event.Result.
	Effects []effect.Kind
	// Instant means that the only phase is Point. Otherwise the phases are Begin and End.
	Instant bool
}

// Table returns the rows of all kinds. The caller must not change them.
func Table() []Info { return table }

var table = []Info{
	{Kind: Run, Item: true, Named: "the function of its task"},
	{Kind: Task, Item: true, Named: "its function"},
	{Kind: Pipeline, Item: true, Named: "the pipeline"},
	{Kind: Stage, Item: true, Named: "PIPELINE/STAGE"},
	{Kind: Listen, Named: "the host"},
	{Kind: Handler, Named: "the type of the message"},
	{Kind: Agent, Item: true, Named: "the agent"},
	{Kind: Model, Item: true, Named: "the agent"},
	{Kind: Retry, Item: true, Named: "the agent or function", Instant: true},
	{Kind: Fallback, Item: true, Named: "the agent", Instant: true},
	{Kind: Repair, Item: true, Named: "the agent", Instant: true},
	{Kind: Tool, Item: true, Named: "the tool"},
	{Kind: MCP, Item: true, Named: "the function of the server"},
	{Kind: HTTP, Item: true, Named: "the method", Effects: []effect.Kind{effect.KindHTTP}},
	{Kind: Command, Item: true, Named: "the command", Effects: []effect.Kind{effect.KindCommand}},
	{Kind: Exchange, Item: true, Named: "the host"},
	{Kind: Message, Item: true, Named: "the type of the message", Instant: true},
	{Kind: Question, Item: true, Named: "the type of the message"},
	{Kind: Approval, Item: true, Named: "the type of the message, or the channel"},
	{Kind: Await, Item: true, Named: "the channel", Effects: []effect.Kind{effect.KindAwaitEmit}},
	{Kind: Emit, Item: true, Named: "the channel", Effects: []effect.Kind{effect.KindEmit}, Instant: true},
	{Kind: Print, Item: true, Effects: []effect.Kind{effect.KindPrint}, Instant: true},
	{Kind: Log, Named: "the level", Effects: []effect.Kind{effect.KindLog}, Instant: true},
	{Kind: Timer, Item: true, Effects: []effect.Kind{effect.KindSleep}},
	{Kind: Store, Item: true, Named: "the store", Effects: []effect.Kind{effect.KindStoreRead, effect.KindStoreWrite, effect.KindStoreAdd, effect.KindStoreDelete,
		effect.KindStoreList, effect.KindStoreLen, effect.KindStoreClear, effect.KindStoreExpire, effect.KindLedgerPut, effect.KindLedgerDelete, effect.KindLedgerFind,
		effect.KindMemoryAppend, effect.KindMemoryList, effect.KindQueueAdd, effect.KindQueueClaim, effect.KindQueueUpdate, effect.KindQueueGet, effect.KindQueueWait}},
	{Kind: File, Item: true, Effects: []effect.Kind{effect.KindReadFile, effect.KindWriteFile, effect.KindFileInfo, effect.KindListDir, effect.KindRemoveFile,
		effect.KindMakeDir, effect.KindCopyFile, effect.KindMoveFile, effect.KindGlob, effect.KindWalk, effect.KindAttachFile, effect.KindTempDir}},
	{Kind: Work, Item: true, Named: "the workspace", Effects: []effect.Kind{effect.KindWorkOpen, effect.KindWorkList, effect.KindWorkDiff, effect.KindWorkCommit,
		effect.KindWorkRun, effect.KindWorkRemove, effect.KindMergeFind, effect.KindMergeSubmit, effect.KindMergeList, effect.KindMergeFinish}},
	{Kind: Request, Named: "the kind of the effect", Effects: []effect.Kind{effect.KindAgentCall, effect.KindStreamOpen, effect.KindStreamNext, effect.KindStreamClose,
		effect.KindExchangeOpen, effect.KindExchangeNext, effect.KindExchangeReply, effect.KindExchangeSteer, effect.KindExchangeContinue, effect.KindExchangeGate, effect.KindHostTasks, effect.KindExchangeClose, effect.KindMCPOpen, effect.KindMCPNext, effect.KindMCPReply, effect.KindMCPChanged,
		effect.KindMergeOpen, effect.KindMergeNext, effect.KindMergeReply, effect.KindMergeClose,
		effect.KindAskHost, effect.KindInput, effect.KindEnv, effect.KindEnvAll, effect.KindSession, effect.KindContinue,
		effect.KindAppList, effect.KindAppPrepare, effect.KindAppDecide, effect.KindAppLeave, effect.KindAppCall, effect.KindAppMock, effect.KindAuditCall, effect.KindAuditDone,
		effect.KindMockScript, effect.KindMockNext, effect.KindMockAnswer, effect.KindMockEnv, effect.KindMockArgs, effect.KindMockInput, effect.KindMockTime,
		effect.KindMockHTTP, effect.KindMockFile, effect.KindMockCommand, effect.KindRecord}},
	{Kind: Decision, Named: "the kind of the decision", Instant: true},
	{Kind: Error, Item: true, Named: "the type of the error", Instant: true},
}

// Unreported contains the kinds of effects that no event reports, each with the reason.
var Unreported = map[effect.Kind]string{
	effect.KindStep:       "reported as tool, repair or retry",
	effect.KindClock:      "the result is the time of the event itself",
	effect.KindZone:       "a property of the machine",
	effect.KindRandom:     "too frequent, and the value has no meaning",
	effect.KindRandomSeed: "too frequent, and the value has no meaning",
	effect.KindSecret:     "the value must not be shown",
	effect.KindArgs:       "a property of the run",
}

// byEffect maps kinds of effects to the rows that report them.
var byEffect = func() map[effect.Kind]*Info {
	by := map[effect.Kind]*Info{}
	for i := range table {
		for _, k := range table[i].Effects {
			by[k] = &table[i]
		}
	}
	return by
}()

// OfEffect returns the row that reports effects of a kind, or nil if none does.
func OfEffect(k effect.Kind) *Info { return byEffect[k] }
