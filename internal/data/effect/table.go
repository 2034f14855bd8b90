package effect

// Area is the performer of a request: the runtime has one for each.
type Area uint8

// The areas.
const (
	Unheard      Area = iota // nothing is done: the request only informs observers
	Output                   // what the application gets, and answers
	Logs                     // the run's log
	Models                   // models, over HTTP
	Hosts                    // subprocesses of the host protocol
	Servers                  // MCP servers
	Environment              // variables and arguments
	Clocks                   // what time it is
	Timers                   // waiting
	Chance                   // random numbers
	Files                    // files and directories
	Stores                   // stores in files
	Web                      // HTTP of the program's own
	Commands                 // commands that run to their end
	Applications             // the tools of the application
	Tests                    // only valid in a test
	Areas                    // how many there are
)

// Class determines what a resumed run does with an effect that is known to have started but not to
// have finished.
type Class uint8

// The classes.
const (
	ClassDerived Class = iota // it follows from what the run is: it is done again like everything else
	ClassTold                 // output without a result, sent once
	ClassRead                 // it changes nothing: it is repeated
	ClassSettled              // the state shows whether it was done
	ClassRetry                // it is repeated with the same key, which is harmless
	ClassOnce                 // unknown: it is only repeated if configured
	ClassKept                 // the performer outlives the run and knows
	ClassWaits                // it continues to wait
	ClassCut                  // it is part of something that has ended with the run
)

// classNames are the classes as journals name them.
var classNames = [...]string{ClassDerived: "derived", ClassTold: "told", ClassRead: "read", ClassSettled: "settled", ClassRetry: "retry",
	ClassOnce: "once", ClassKept: "kept", ClassWaits: "waits", ClassCut: "cut"}

func (c Class) String() string { return classNames[c] }

// Info is a row of the table of effects: the properties of a kind of request.
type Info struct {
	Kind Kind
	// Request makes an empty request of the kind, Result an empty result of its
	// type, for a journal to read into. Result is nil when requests of the kind
	// have no result.
	Request func() Request
	Result  func() Result
	// By is the performer.
	By Area
	// Inline reports that requests of the kind return at once; see Inline.
	Inline bool
	// Class is for a request; ClassOf knows better where that depends on it.
	Class   Class
	classOf func(Request) Class
	// Keyed reports that the receiver can be given the effect's key, by which it recognises a
	// second attempt. An effect that only reads needs no key.
	Keyed bool
}

// Table returns all kinds of requests. The caller must not change it.
func Table() []Info { return table }

var table = []Info{
	{Kind: KindAgentCall, Request: request[AgentCall], Result: result[AgentReply], By: Models, Class: ClassRetry, Keyed: true},
	{Kind: KindStreamOpen, Request: request[StreamOpen], Result: result[StreamOpened], By: Models, Inline: true, Class: ClassCut, Keyed: true},
	{Kind: KindStreamNext, Request: request[StreamNext], Result: result[StreamPiece], By: Models, Class: ClassCut},
	{Kind: KindStreamClose, Request: request[StreamClose], By: Models, Inline: true, Class: ClassCut},
	{Kind: KindStep, Request: request[Step], By: Unheard, Inline: true, Class: ClassDerived},

	{Kind: KindExchangeOpen, Request: request[ExchangeOpen], Result: result[ExchangeOpened], By: Hosts, Class: ClassKept, Keyed: true},
	{Kind: KindExchangeNext, Request: request[ExchangeNext], Result: result[ExchangeMessages], By: Hosts, Class: ClassKept},
	{Kind: KindExchangeReply, Request: request[ExchangeReply], By: Hosts, Inline: true, Class: ClassKept},
	{Kind: KindExchangeClose, Request: request[ExchangeClose], By: Hosts, Class: ClassKept},

	{Kind: KindMCPOpen, Request: request[MCPOpen], Result: result[MCPOpened], By: Servers, Inline: true, Class: ClassOnce, classOf: classOfMCP, Keyed: true},
	{Kind: KindMCPNext, Request: request[MCPNext], Result: result[MCPEvent], By: Servers, Class: ClassCut},
	{Kind: KindMCPReply, Request: request[MCPReply], By: Servers, Inline: true, Class: ClassCut},

	{Kind: KindEmit, Request: request[Emit], By: Output, Inline: true, Class: ClassTold},
	{Kind: KindAwaitEmit, Request: request[AwaitEmit], Result: result[Answer], By: Output, Class: ClassWaits},
	{Kind: KindAskHost, Request: request[AskHost], Result: result[Answer], By: Output, Class: ClassWaits},
	{Kind: KindInput, Request: request[Input], Result: result[InputText], By: Output, Class: ClassRead},
	{Kind: KindPrint, Request: request[Print], By: Output, Inline: true, Class: ClassTold},
	{Kind: KindLog, Request: request[Log], By: Logs, Inline: true, Class: ClassTold},

	{Kind: KindEnv, Request: request[Env], Result: result[EnvValue], By: Environment, Inline: true, Class: ClassRead},
	{Kind: KindEnvAll, Request: request[EnvAll], Result: result[EnvVariables], By: Environment, Inline: true, Class: ClassRead},
	{Kind: KindArgs, Request: request[Args], Result: result[ArgsValue], By: Environment, Inline: true, Class: ClassDerived},
	{Kind: KindSession, Request: request[Session], Result: result[SessionInfo], By: Environment, Inline: true, Class: ClassDerived},

	{Kind: KindSleep, Request: request[Sleep], By: Timers, Class: ClassWaits},
	{Kind: KindClock, Request: request[Clock], Result: result[Time], By: Clocks, Inline: true, Class: ClassRead},
	{Kind: KindZone, Request: request[Zone], Result: result[Offset], By: Clocks, Inline: true, Class: ClassRead},

	{Kind: KindRandom, Request: request[Random], Result: result[RandomBits], By: Chance, Inline: true, Class: ClassDerived},
	{Kind: KindRandomSeed, Request: request[RandomSeed], By: Chance, Inline: true, Class: ClassDerived},
	{Kind: KindSecret, Request: request[Secret], Result: result[SecretBytes], By: Chance, Inline: true, Class: ClassRead},

	{Kind: KindReadFile, Request: request[ReadFile], Result: result[FileText], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindWriteFile, Request: request[WriteFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindFileInfo, Request: request[FileInfo], Result: result[FileStatus], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindListDir, Request: request[ListDir], Result: result[FileNames], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindRemoveFile, Request: request[RemoveFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindMakeDir, Request: request[MakeDir], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindCopyFile, Request: request[CopyFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindMoveFile, Request: request[MoveFile], By: Files, Inline: true, Class: ClassSettled},
	{Kind: KindGlob, Request: request[Glob], Result: result[FileNames], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindWalk, Request: request[Walk], Result: result[FileNames], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindAttachFile, Request: request[AttachFile], Result: result[AttachedFile], By: Files, Inline: true, Class: ClassRead},
	{Kind: KindTempDir, Request: request[TempDir], Result: result[FileNames], By: Files, Inline: true, Class: ClassRead},

	{Kind: KindStoreRead, Request: request[StoreRead], Result: result[StoreEntries], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindStoreWrite, Request: request[StoreWrite], Result: result[StoreEntries], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreAdd, Request: request[StoreAdd], Result: result[StoreEntries], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreDelete, Request: request[StoreDelete], Result: result[StoreFound], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreList, Request: request[StoreList], Result: result[StoreEntries], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindStoreLen, Request: request[StoreLen], Result: result[StoreCount], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindStoreClear, Request: request[StoreClear], Result: result[StoreEntries], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindStoreExpire, Request: request[StoreExpire], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindLedgerPut, Request: request[LedgerPut], Result: result[StoreFound], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindLedgerDelete, Request: request[LedgerDelete], Result: result[StoreFound], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindLedgerFind, Request: request[LedgerFind], Result: result[LedgerEntries], By: Stores, Inline: true, Class: ClassRead},
	{Kind: KindMemoryAppend, Request: request[MemoryAppend], By: Stores, Inline: true, Class: ClassSettled},
	{Kind: KindMemoryList, Request: request[MemoryList], Result: result[MemoryMessages], By: Stores, Inline: true, Class: ClassRead},

	{Kind: KindHTTP, Request: request[HTTP], Result: result[HTTPResponse], By: Web, Class: ClassOnce, classOf: classOfHTTP, Keyed: true},
	{Kind: KindCommand, Request: request[Command], Result: result[CommandOutput], By: Commands, Class: ClassOnce},

	{Kind: KindAppList, Request: request[AppList], Result: result[AppOffer], By: Applications, Inline: true, Class: ClassRead},
	{Kind: KindAppPrepare, Request: request[AppPrepare], Result: result[AppQuestion], By: Applications, Inline: true, Class: ClassRead},
	{Kind: KindAppDecide, Request: request[AppDecide], Result: result[AppVerdict], By: Applications, Inline: true, Class: ClassDerived},
	{Kind: KindAppLeave, Request: request[AppLeave], By: Applications, Inline: true, Class: ClassDerived},
	{Kind: KindAppCall, Request: request[AppCall], Result: result[AppResult], By: Applications, Class: ClassOnce, Keyed: true},
	{Kind: KindAppMock, Request: request[AppMock], By: Applications, Inline: true, Class: ClassDerived},
	{Kind: KindAuditCall, Request: request[AuditCall], Result: result[AuditCalled], By: Applications, Inline: true, Class: ClassSettled},
	{Kind: KindAuditDone, Request: request[AuditDone], By: Applications, Inline: true, Class: ClassSettled},

	{Kind: KindMockScript, Request: request[MockScript], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockNext, Request: request[MockNext], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockAnswer, Request: request[MockAnswer], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockEnv, Request: request[MockEnv], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockArgs, Request: request[MockArgs], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockInput, Request: request[MockInput], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockTime, Request: request[MockTime], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockHTTP, Request: request[MockHTTP], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockFile, Request: request[MockFile], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindMockCommand, Request: request[MockCommand], By: Tests, Inline: true, Class: ClassDerived},
	{Kind: KindRecord, Request: request[Record], Result: result[Recorded], By: Tests, Inline: true, Class: ClassDerived},
}

func request[T any, P interface {
	*T
	Request
}]() Request {
	return P(new(T))
}

func result[T any]() Result { return new(T) }

// byKind are the rows by their kinds.
var byKind = func() map[Kind]*Info {
	by := make(map[Kind]*Info, len(table))
	for i := range table {
		by[table[i].Kind] = &table[i]
	}
	return by
}()

// Of returns the row of a kind, or nil if there is none. The caller must not change it.
func Of(k Kind) *Info { return byKind[k] }

// Inline reports whether requests of kind k return at once, so that performing one needs no
// goroutine and no task yields. There are two exceptions: a reply into a full queue, and a store's
// file that another process is writing. For these the performer waits, or returns ErrWaits to a
// caller with AtOnce.
func Inline(k Kind) bool {
	row := byKind[k]
	return row != nil && row.Inline
}

// ClassOf returns the class of a request whose kind is in the table.
func ClassOf(r Request) Class {
	row := byKind[r.Kind()]
	if row.classOf != nil {
		return row.classOf(r)
	}
	return row.Class
}

// classOfHTTP returns what HTTP promises of the methods; others promise nothing.
func classOfHTTP(r Request) Class {
	switch r.(*HTTP).Method {
	case "GET", "HEAD", "OPTIONS":
		return ClassRead
	case "PUT", "DELETE":
		return ClassRetry
	}
	return ClassOnce
}

// classOfMCP distinguishes calls of tools from requests that only read. A
// tool's own claim to be repeatable is known only once its server has been
// asked.
func classOfMCP(r Request) Class {
	if m := r.(*MCPOpen).Method; m != "" && m != MCPCallTool {
		return ClassRead
	}
	return ClassOnce
}
