package effect

// Area identifies the performer of a kind of request. The runtime has one performer per area.
type Area uint8

// The areas.
const (
	ObserversOnly Area = iota // the request only informs observers; nothing is performed
	Output                    // output to the application, and its answers
	Logs                      // the run's log
	Models                    // models, over HTTP
	Hosts                     // processes of hosts, over the host protocol
	Servers                   // MCP servers
	Environment               // environment variables and arguments
	Clocks                    // the current time
	Timers                    // waiting
	Chance                    // random numbers
	Files                     // files and directories
	Stores                    // stores in files
	Web                       // HTTP requests of the program
	Commands                  // commands
	Workspaces                // worktrees of agents
	Merges                    // merges of workspaces
	Applications              // tools of the application
	Tests                     // only valid in a test
	Areas                     // number of areas
)

// Class determines what a resumed run does with an effect that has started and may not have
// finished.
type Class uint8

// The classes.
const (
	ClassDerived Class = iota // depends only on the run, so the replay performs it again
	ClassTold                 // output without a result; it is sent once
	ClassRead                 // changes nothing, so it is performed again
	ClassSettled              // the state of its target shows whether it has happened
	ClassRetry                // performed again with the same key, which is harmless
	ClassOnce                 // the outcome is unknown; it is performed again only if that is configured
	ClassKept                 // the performer continues after the run's process has exited, and knows the outcome
	ClassWaits                // continues to wait
	ClassCut                  // belongs to an object that was lost with the run's process
)

// classNames contains the names of the classes in journals.
var classNames = [...]string{ClassDerived: "derived", ClassTold: "told", ClassRead: "read", ClassSettled: "settled", ClassRetry: "retry",
	ClassOnce: "once", ClassKept: "kept", ClassWaits: "waits", ClassCut: "cut"}

func (c Class) String() string { return classNames[c] }

// Info is a row of the table of effects. It contains the properties of a kind of request.
type Info struct {
	Kind Kind
	// Request returns an empty request of the kind. Result returns an empty result, into which a
	// journal decodes; it is nil if requests of the kind have no result.
	Request func() Request
	Result  func() Result
	// By is the area of the performer.
	By Area
	// Inline means that requests of the kind return at once; see the function Inline.
	Inline bool
	// Class is the class of most requests of the kind. If the class depends on the request, ClassOf
	// returns it.
	Class   Class
	classOf func(Request) Class
	// Keyed means that the receiver accepts the key of the effect, by which it detects a second
	// attempt. An effect that changes nothing needs no key.
	Keyed bool
}

// Table returns the rows of all kinds of requests. The caller must not change them.
func Table() []Info { return table }

var table = []Info{
	{Kind: KindAgentCall, Request: newRequest[AgentCall], Result: newResult[AgentReply], By: Models, Class: ClassRetry, Keyed: true},
	{Kind: KindStreamOpen, Request: newRequest[StreamOpen], Result: newResult[StreamOpened], By: Models, Inline: true, Class: ClassCut, Keyed: true},
	{Kind: KindStreamNext, Request: newRequest[StreamNext], Result: newResult[StreamPiece], By: Models, Class: ClassCut},
	{Kind: KindStreamClose, Request: newRequest[StreamClose], Result: newResult[StreamClosed], By: Models, Inline: true, Class: ClassCut},
	{Kind: KindStep, Request: newRequest[Step], By: ObserversOnly, Inline: true, Class: ClassDerived},

	{Kind: KindExchangeOpen, Request: newRequest[ExchangeOpen], Result: newResult[ExchangeOpened], By: Hosts, Class: ClassKept, Keyed: true},
	{Kind: KindExchangeNext, Request: newRequest[ExchangeNext], Result: newResult[ExchangeMessages], By: Hosts, Class: ClassKept},
	{Kind: KindExchangeReply, Request: newRequest[ExchangeReply], By: Hosts, Inline: true, Class: ClassKept},
	{Kind: KindExchangeSteer, Request: newRequest[ExchangeSteer], Result: newResult[ExchangeSteered], By: Hosts, Class: ClassKept, Keyed: true},
	{Kind: KindExchangeContinue, Request: newRequest[ExchangeContinue], Result: newResult[ExchangeSteered], By: Hosts, Class: ClassKept, Keyed: true},
	{Kind: KindExchangeGate, Request: newRequest[ExchangeGate], Result: newResult[GateOutput], By: Hosts, Class: ClassRetry, Keyed: true},
	{Kind: KindHostTasks, Request: newRequest[HostTasks], Result: newResult[HostTaskList], By: Hosts, Class: ClassRead},
	{Kind: KindExchangeClose, Request: newRequest[ExchangeClose], Result: newResult[ExchangeClosed], By: Hosts, Class: ClassKept},

	{Kind: KindMCPOpen, Request: newRequest[MCPOpen], Result: newResult[MCPOpened], By: Servers, Inline: true, Class: ClassOnce, classOf: classOfMCP, Keyed: true},
	{Kind: KindMCPNext, Request: newRequest[MCPNext], Result: newResult[MCPEvent], By: Servers, Class: ClassCut},
	{Kind: KindMCPReply, Request: newRequest[MCPReply], By: Servers, Inline: true, Class: ClassCut},
	{Kind: KindMCPChanged, Request: newRequest[MCPChanged], Result: newResult[MCPChange], By: Servers, Inline: true, Class: ClassRead},

	{Kind: KindEmit, Request: newRequest[Emit], By: Output, Inline: true, Class: ClassTold},
	{Kind: KindAwaitEmit, Request: newRequest[AwaitEmit], Result: newResult[Answer], By: Output, Class: ClassWaits},
	{Kind: KindAskHost, Request: newRequest[AskHost], Result: newResult[Answer], By: Output, Class: ClassWaits},
	{Kind: KindInput, Request: newRequest[Input], Result: newResult[InputText], By: Output, Class: ClassRead},
	{Kind: KindPrint, Request: newRequest[Print], By: Output, Inline: true, Class: ClassTold},
	{Kind: KindLog, Request: newRequest[Log], By: Logs, Inline: true, Class: ClassTold},

	{Kind: KindEnv, Request: newRequest[Env], Result: newResult[EnvValue], By: Environment, Inline: true, Class: ClassRead},
	{Kind: KindEnvAll, Request: newRequest[EnvAll], Result: newResult[EnvVariables], By: Environment, Inline: true, Class: ClassRead},
	{Kind: KindArgs, Request: newRequest[Args], Result: newResult[ArgsValue], By: Environment, Inline: true, Class: ClassDerived},
	{Kind: KindContinue, Request: newRequest[Continue], Result: newResult[Continued], By: Environment, Inline: true, Class: ClassRead},
	{Kind: KindSession, Request: newRequest[Session], Result: newResult[SessionInfo], By: Environment, Inline: true, Class: ClassDerived},

	{Kind: KindSleep, Request: newRequest[Sleep], By: Timers, Class: ClassWaits},
	{Kind: KindClock, Request: newRequest[Clock], Result: newResult[Time], By: Clocks, Inline: true, Class: ClassRead},
	{Kind: KindZone, Request: newRequest[Zone], Result: newResult[Offset], By: Clocks, Inline: true, Class: ClassRead},

	{Kind: KindRandom, Request: newRequest[Random], Result: newResult[RandomBits], By: Chance, Inline: true, Class: ClassDerived},
	{Kind: KindRandomSeed, Request: newRequest[RandomSeed], By: Chance, Inline: true, Class: ClassDerived},
	{Kind: KindSecret, Request: newRequest[Secret], Result: newResult[SecretBytes], By: Chance, Inline: true, Class: ClassRead},

	{Kind: KindReadFile, Request: newRequest[ReadFile], Result: newResult[FileText], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindWriteFile, Request: newRequest[WriteFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindFileInfo, Request: newRequest[FileInfo], Result: newResult[FileStatus], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindListDir, Request: newRequest[ListDir], Result: newResult[FileNames], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindRemoveFile, Request: newRequest[RemoveFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindMakeDir, Request: newRequest[MakeDir], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindCopyFile, Request: newRequest[CopyFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindMoveFile, Request: newRequest[MoveFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindGlob, Request: newRequest[Glob], Result: newResult[FileNames], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindWalk, Request: newRequest[Walk], Result: newResult[FileNames], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindAttachFile, Request: newRequest[AttachFile], Result: newResult[AttachedFile], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindTempDir, Request: newRequest[TempDir], Result: newResult[FileNames], By: Files, Inline: true, Class: ClassRead},

	{Kind: KindStoreRead, Request: newRequest[StoreRead], Result: newResult[StoreEntries], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindStoreWrite, Request: newRequest[StoreWrite], Result: newResult[StoreEntries], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreAdd, Request: newRequest[StoreAdd], Result: newResult[StoreEntries], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreDelete, Request: newRequest[StoreDelete], Result: newResult[StoreFound], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreList, Request: newRequest[StoreList], Result: newResult[StoreEntries], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindStoreLen, Request: newRequest[StoreLen], Result: newResult[StoreCount], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindStoreClear, Request: newRequest[StoreClear], Result: newResult[StoreEntries], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreExpire, Request: newRequest[StoreExpire], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindLedgerPut, Request: newRequest[LedgerPut], Result: newResult[StoreFound], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindLedgerDelete, Request: newRequest[LedgerDelete], Result: newResult[StoreFound], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindLedgerFind, Request: newRequest[LedgerFind], Result: newResult[LedgerEntries], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindMemoryAppend, Request: newRequest[MemoryAppend], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindMemoryList, Request: newRequest[MemoryList], Result: newResult[MemoryMessages], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindQueueAdd, Request: newRequest[QueueAdd], Result: newResult[QueueAdded], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindQueueClaim, Request: newRequest[QueueClaim], Result: newResult[QueueClaimed], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindQueueUpdate, Request: newRequest[QueueUpdate], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindQueueGet, Request: newRequest[QueueGet], Result: newResult[QueueItems], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindQueueWait, Request: newRequest[QueueWait], By: Stores, Class: ClassWaits},

	{Kind: KindHTTP, Request: newRequest[HTTP], Result: newResult[HTTPResponse], By: Web, Class: ClassOnce, classOf: classOfHTTP, Keyed: true},
	{Kind: KindCommand, Request: newRequest[Command], Result: newResult[CommandOutput], By: Commands, Class: ClassOnce},

	{Kind: KindWorkOpen, Request: newRequest[WorkOpen], Result: newResult[WorkspaceInfo], By: Workspaces, Class: ClassSettled},
	{Kind: KindWorkList, Request: newRequest[WorkList], Result: newResult[WorkspaceList], By: Workspaces, Class: ClassRead},
	{Kind: KindWorkDiff, Request: newRequest[WorkDiff], Result: newResult[WorkspaceDiff], By: Workspaces, Class: ClassRead},
	{Kind: KindWorkCommit, Request: newRequest[WorkCommit], Result: newResult[WorkCommitted], By: Workspaces, Class: ClassSettled},
	{Kind: KindWorkRun, Request: newRequest[WorkRun], Result: newResult[WorkOutput], By: Workspaces, Class: ClassOnce},
	{Kind: KindWorkRemove, Request: newRequest[WorkRemove], By: Workspaces, Class: ClassSettled},

	{Kind: KindMergeFind, Request: newRequest[MergeFind], Result: newResult[MergeQueueInfo], By: Merges, Inline: true, Class: ClassRead},
	{Kind: KindMergeSubmit, Request: newRequest[MergeSubmit], Result: newResult[MergeSubmitted], By: Merges, Class: ClassSettled},
	{Kind: KindMergeList, Request: newRequest[MergeList], Result: newResult[MergeChanges], By: Merges, Class: ClassRead},
	{Kind: KindMergeFinish, Request: newRequest[MergeFinish], By: Merges, Inline: true, Class: ClassSettled},
	{Kind: KindMergeOpen, Request: newRequest[MergeOpen], Result: newResult[MergeOpened], By: Merges, Inline: true, Class: ClassSettled, Keyed: true},
	{Kind: KindMergeNext, Request: newRequest[MergeNext], Result: newResult[MergeEvent], By: Merges, Class: ClassCut},
	{Kind: KindMergeReply, Request: newRequest[MergeReply], By: Merges, Inline: true, Class: ClassCut},
	{Kind: KindMergeClose, Request: newRequest[MergeClose], By: Merges, Inline: true, Class: ClassCut},

	{Kind: KindAppList, Request: newRequest[AppList], Result: newResult[AppOffer], By: Applications, Inline: true, Class: ClassRead},
	{Kind: KindAppPrepare, Request: newRequest[AppPrepare], Result: newResult[AppQuestion], By: Applications, Inline: true, Class: ClassRead},
	{Kind: KindAppDecide, Request: newRequest[AppDecide], Result: newResult[AppVerdict], By: Applications, Inline: true, Class: ClassDerived},
	{Kind: KindAppLeave, Request: newRequest[AppLeave], By: Applications, Inline: true, Class: ClassDerived},
	{Kind: KindAppCall, Request: newRequest[AppCall], Result: newResult[AppResult], By: Applications, Class: ClassOnce, Keyed: true},
	{Kind: KindAppMock, Request: newRequest[AppMock], By: Applications, Inline: true, Class: ClassDerived},
	{Kind: KindAuditCall, Request: newRequest[AuditCall], Result: newResult[AuditCalled], By: Applications, Inline: true, Class: ClassSettled},
	{Kind: KindAuditDone, Request: newRequest[AuditDone], By: Applications, Inline: true, Class: ClassSettled},

	{Kind: KindMockScript, Request: newRequest[MockScript], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockNext, Request: newRequest[MockNext], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockAnswer, Request: newRequest[MockAnswer], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockEnv, Request: newRequest[MockEnv], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockArgs, Request: newRequest[MockArgs], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockInput, Request: newRequest[MockInput], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockTime, Request: newRequest[MockTime], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockHTTP, Request: newRequest[MockHTTP], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockFile, Request: newRequest[MockFile], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockCommand, Request: newRequest[MockCommand], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindRecord, Request: newRequest[Record], Result: newResult[Recorded], By: Tests, Inline: true, Class: ClassDerived},
}

func newRequest[T any, P interface {
	*T
	Request
}]() Request {
	return P(new(T))
}

func newResult[T any]() Result { return new(T) }

// byKind contains the rows by kind.
var byKind = func() map[Kind]*Info {
	by := make(map[Kind]*Info, len(table))
	for i := range table {
		by[table[i].Kind] = &table[i]
	}
	return by
}()

// Lookup returns the row of a kind, or nil if there is none. The caller must not change it.
func Lookup(k Kind) *Info { return byKind[k] }

// Inline reports whether requests of kind k return at once, so that performing them requires no
// goroutine, and no task yields. In two cases such a request may still wait: a reply into a full
// queue, and a store whose file another process is writing. The performer then waits, or returns
// ErrWaits if the context has WithNoWait.
func Inline(k Kind) bool {
	row := byKind[k]
	return row != nil && row.Inline
}

// ClassOf returns the class of a request. Its kind must be in the table.
func ClassOf(r Request) Class {
	row := byKind[r.Kind()]
	if row.classOf != nil {
		return row.classOf(r)
	}
	return row.Class
}

// classOfHTTP returns the class of an HTTP request by its method. Only methods that HTTP defines as
// safe or idempotent may be repeated.
func classOfHTTP(r Request) Class {
	switch r.(*HTTP).Method {
	case "GET", "HEAD", "OPTIONS":
		return ClassRead
	case "PUT", "DELETE":
		return ClassRetry
	}
	return ClassOnce
}

// classOfMCP returns the class of an MCP call. Requests that only read may be repeated. Whether a
// tool declares itself repeatable is known only after its server was queried.
func classOfMCP(r Request) Class {
	if m := r.(*MCPOpen).Method; m != "" && m != MCPCallTool {
		return ClassRead
	}
	return ClassOnce
}
