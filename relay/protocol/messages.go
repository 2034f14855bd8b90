package protocol

// Message types that code refers to by name.
const (
	RunStarted             = "run.started"
	RunOutput              = "run.output"
	RunAwaitingInput       = "run.awaiting_input"
	RunInput               = "run.input"
	RunPermissionRequested = "run.permission_requested"
	RunPermissionResolved  = "run.permission_resolved"
	RunDecision            = "run.decision"
	RunExited              = "run.exited"
	RunMeta                = "run.meta"
	RunEmit                = "run.emit"
	RunListen              = "run.listen"
	RunResized             = "run.resized"
	RunGap                 = "run.gap"
	RunRefused             = "run.refused"
	ToolCall               = "tool.call"
	ToolResult             = "tool.result"

	RunSendInput   = "run.send_input"
	RunSendKeys    = "run.send_keys"
	RunStop        = "run.stop"
	RunResize      = "run.resize"
	RunApprove     = "run.permission.approve"
	RunDeny        = "run.permission.deny"
	RunDecide      = "run.decide"
	RunSubscribe   = "run.subscribe"
	RunUnsubscribe = "run.unsubscribe"

	Hello             = "hello"
	Welcome           = "welcome"
	Failure           = "error"
	Heartbeat         = "host.heartbeat"
	RunAck            = "run.ack"
	CommandState      = "command.state"
	CommandResult     = "command.result"
	CommandAck        = "command.ack"
	CaughtUp          = "run.caught_up"
	Progress          = "run.progress"
	Challenge         = "auth.challenge"
	ChallengeResponse = "auth.response"

	RPCReadFile            = "rpc.fs.read"
	RPCListDir             = "rpc.fs.list"
	RPCSearch              = "rpc.fs.search"
	RPCWriteFile           = "rpc.fs.write"
	RPCBash                = "rpc.bash"
	RPCGitStatus           = "rpc.git.status"
	RPCGitDiff             = "rpc.git.diff"
	RPCStartRun            = "rpc.run.start"
	RPCStopRun             = "rpc.run.stop"
	RPCListRuns            = "rpc.runs.list"
	RPCMachineInfo         = "rpc.host.info"
	RPCMachineDoctor       = "rpc.host.doctor"
	RPCMachineCapabilities = "rpc.host.capabilities"
	RPCTailLog             = "rpc.host.logs.tail"
	RPCShareStart          = "rpc.share.start"
	RPCShareEnd            = "rpc.share.end"
	RPCShareList           = "rpc.share.list"
	RPCSealed              = "rpc.sealed"
	RPCResponse            = "rpc.response"
)

// Messages lists all message types.
var Messages = []Message{
	{Type: RunStarted, Kind: Event, From: []Peer{Machine}, Data: Started{}, Since: 1, Doc: "A run has started."},
	{Type: RunOutput, Kind: Event, From: []Peer{Machine}, Data: Output{}, Since: 1, Doc: "A run wrote to its terminal."},
	{Type: RunAwaitingInput, Kind: Event, From: []Peer{Machine}, Data: AwaitingInput{}, Since: 1, Doc: "A run waits for input."},
	{Type: RunInput, Kind: Event, From: []Peer{Machine}, Data: Input{}, Since: 1, Doc: "Input was written to the run."},
	{Type: RunPermissionRequested, Kind: Event, From: []Peer{Machine}, Data: PermissionRequested{}, Since: 1, Doc: "A run requests a decision, or answers."},
	{Type: RunPermissionResolved, Kind: Event, From: []Peer{Machine}, Data: PermissionResolved{}, Since: 2, Doc: "The outcome of a request. Only the machine's report is final."},
	{Type: RunDecision, Kind: Event, From: []Peer{Machine}, Data: Decided{}, Since: 2, Doc: "A decision that no user of the relay made: by a rule, a handler, or a person at the terminal."},
	{Type: RunExited, Kind: Event, From: []Peer{Machine}, Data: Exited{}, Since: 1, Doc: "A run has ended. It is the last event."},
	{Type: RunMeta, Kind: Event, From: []Peer{Machine}, Data: Meta{}, Since: 2, Doc: "Metadata of a run; each member replaces its previous value."},
	{Type: RunEmit, Kind: Event, From: []Peer{Machine}, Data: Emit{}, Since: 2, Doc: "A program emitted a value."},
	{Type: RunListen, Kind: Event, From: []Peer{Machine}, Data: Listen{}, Since: 2, Doc: "A message between a program and its host."},
	{Type: RunResized, Kind: Event, From: []Peer{Machine}, Data: Resized{}, Since: 2, Doc: "The size of the run's terminal has changed."},
	{Type: RunGap, Kind: Event, From: []Peer{Machine, Server}, Data: Gap{}, Since: 2, Doc: "Events that will never arrive. Its seq is `to`."},
	{Type: RunRefused, Kind: Event, From: []Peer{Machine}, Data: OwnRefused{}, Since: 2, Doc: "A process of the run, or a command of a device, was refused a decision, an input or a stop."},
	{Type: ToolCall, Kind: Event, From: []Peer{Machine}, Data: Called{}, Since: 1, Doc: "A run is about to use a tool."},
	{Type: ToolResult, Kind: Event, From: []Peer{Machine}, Data: Returned{}, Since: 1, Doc: "A tool was used."},

	{Type: RunSendInput, Kind: Command, From: []Peer{App}, Data: SendInput{}, Since: 1, Doc: "Writes text to a run, at most once."},
	{Type: RunSendKeys, Kind: Command, From: []Peer{App}, Data: SendKeys{}, Since: 2, Doc: "Writes keys to a run's terminal, at most once and only immediately."},
	{Type: RunStop, Kind: Command, From: []Peer{App}, Data: Stop{}, Since: 1, Doc: "Stops a run with its whole process group."},
	{Type: RunResize, Kind: Command, From: []Peer{App}, Data: Resize{}, Since: 2, Doc: "Resizes a run's terminal. The last size applies."},
	{Type: RunApprove, Kind: Command, From: []Peer{App}, Data: Decide{}, Since: 1, Doc: "Approves a request, or answers it."},
	{Type: RunDeny, Kind: Command, From: []Peer{App}, Data: Decide{}, Since: 1, Doc: "Denies a request."},
	{Type: RunDecide, Kind: Command, From: []Peer{App}, Data: SealedCommand{}, Since: 2, Doc: "Decides a request. Only the machine can read the decision."},
	{Type: RunSubscribe, Kind: Command, From: []Peer{App}, Data: Subscribe{}, Since: 2, Doc: "Subscribes to runs from a cursor on."},
	{Type: RunUnsubscribe, Kind: Command, From: []Peer{App}, Data: Unsubscribe{}, Since: 2, Doc: "Ends the subscription to runs."},

	{Type: Hello, Kind: Exchange, From: []Peer{Machine, App}, Data: HelloData{}, Since: 2, Doc: "The first frame of a client that supports more than protocol 1."},
	{Type: Welcome, Kind: Exchange, From: []Peer{Server}, Data: WelcomeData{}, Since: 2, Doc: "The response to hello; the lower protocol version applies."},
	{Type: Failure, Kind: Exchange, From: []Peer{Server}, Data: ErrorData{}, Since: 2, Doc: "A frame, or its request, was refused."},
	{Type: Heartbeat, Kind: Exchange, From: []Peer{Machine}, Data: Empty{}, Since: 2, Doc: "A sign of life from the machine. It is not stored."},
	{Type: RunAck, Kind: Exchange, From: []Peer{Server}, Data: Ack{}, Since: 1, Doc: "All events of a run up to a seq are stored."},
	{Type: CommandState, Kind: Exchange, From: []Peer{Server}, Data: State{}, Since: 2, Doc: "The state of a command, sent to its sender."},
	{Type: CommandResult, Kind: Exchange, From: []Peer{Machine}, Data: CommandDone{}, Since: 2, Doc: "The result of a command, repeated by the machine until it is acknowledged."},
	{Type: CommandAck, Kind: Exchange, From: []Peer{Server}, Data: CommandAcked{}, Since: 2, Doc: "A command's result is stored."},
	{Type: CaughtUp, Kind: Exchange, From: []Peer{Server}, Data: Cursor{}, Since: 2, Doc: "All stored events have been sent; the following events are live."},
	{Type: Progress, Kind: Exchange, From: []Peer{Server}, Data: ProgressData{}, Since: 2, Doc: "A run is active; sent to subscribers without output."},
	{Type: Challenge, Kind: Exchange, From: []Peer{Server}, Data: ChallengeData{}, Since: 2, Doc: "Requests a proof of the machine's key."},
	{Type: ChallengeResponse, Kind: Exchange, From: []Peer{Machine}, Data: ChallengeAnswer{}, Since: 2, Doc: "The proof."},

	{Type: RPCReadFile, Kind: RPC, From: []Peer{App}, Data: ReadFile{}, Result: ReadFileResult{}, Since: 1, Doc: "Reads a text file below the run's directory."},
	{Type: RPCListDir, Kind: RPC, From: []Peer{App}, Data: ListDir{}, Result: ListDirResult{}, Since: 1, Doc: "Lists a directory below the run's."},
	{Type: RPCSearch, Kind: RPC, From: []Peer{App}, Data: Search{}, Result: SearchResult{}, Since: 1, Doc: "Searches below the run's directory with ripgrep."},
	{Type: RPCWriteFile, Kind: RPC, From: []Peer{App}, Data: WriteFile{}, Result: WriteFileResult{}, Since: 1, Gated: true, Doc: "Writes a file below the run's directory."},
	{Type: RPCBash, Kind: RPC, From: []Peer{App}, Data: Bash{}, Result: BashResult{}, Since: 1, Gated: true, Doc: "Runs a command of bash in the run's directory."},
	{Type: RPCGitStatus, Kind: RPC, From: []Peer{App}, Data: Git{}, Result: GitResult{}, Since: 1, Doc: "Returns git's status of the run's directory."},
	{Type: RPCGitDiff, Kind: RPC, From: []Peer{App}, Data: Git{}, Result: GitResult{}, Since: 1, Doc: "Returns git's diff of the run's directory."},
	{Type: RPCStartRun, Kind: RPC, From: []Peer{App}, Data: StartRun{}, Result: StartRunResult{}, OfMachine: true, Since: 1, Doc: "Starts a run on a machine."},
	{Type: RPCStopRun, Kind: RPC, From: []Peer{App}, Data: StopRun{}, Result: StopRunResult{}, Since: 1, Doc: "Stops a run, and returns."},
	{Type: RPCListRuns, Kind: RPC, From: []Peer{App}, Data: ListRuns{}, Result: ListRunsResult{}, Since: 1, Doc: "Lists the runs of a machine."},
	{Type: RPCMachineInfo, Kind: RPC, From: []Peer{App}, Data: MachineRequest{}, Result: MachineInfo{}, OfMachine: true, Since: 1, Doc: "Describes a machine."},
	{Type: RPCMachineDoctor, Kind: RPC, From: []Peer{App}, Data: MachineRequest{}, Result: MachineDoctor{}, OfMachine: true, Since: 1, Doc: "Describes a machine and its problems."},
	{Type: RPCMachineCapabilities, Kind: RPC, From: []Peer{App}, Data: MachineRequest{}, Result: MachineCapabilities{}, OfMachine: true, Since: 1, Doc: "Lists the capabilities of a machine."},
	{Type: RPCTailLog, Kind: RPC, From: []Peer{App}, Data: TailLog{}, Result: LogTail{}, OfMachine: true, Since: 1, Doc: "Returns the end of the machine's log."},
	{Type: RPCShareStart, Kind: RPC, From: []Peer{App}, Data: ShareStart{}, Result: Share{}, OfMachine: true, Since: 2, Doc: "Shares sealed runs with those who have a link. Only an owner's device may send it, sealed."},
	{Type: RPCShareEnd, Kind: RPC, From: []Peer{App}, Data: ShareEnd{}, Result: Share{}, OfMachine: true, Since: 2, Doc: "Ends a share. Later events can no longer be opened with its link."},
	{Type: RPCShareList, Kind: RPC, From: []Peer{App}, Data: MachineRequest{}, Result: ShareListResult{}, OfMachine: true, Since: 2, Doc: "Lists the shares of a machine that have not ended."},
	{Type: RPCSealed, Kind: RPC, From: []Peer{App}, Data: SealedCommand{}, Result: SealedResponse{}, Since: 2, Doc: "An RPC that only the machine can read. Without a run, it has the machine in host_id."},
	{Type: RPCResponse, Kind: Exchange, From: []Peer{Machine, Server}, Data: Response{}, Since: 1, Doc: "The response to an RPC, sent only to its sender."},
}
