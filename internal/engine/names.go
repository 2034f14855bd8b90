package engine

import (
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/transcript"
	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/logs"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/vm"
)

// Names of other packages' types that the commands use through this one.
type (
	// Source says where a program is: Path seen from Dir, or Given.
	Source = driver.Request
	// Given is a program that is in no file.
	Given = driver.Given
	// PathError says that a path leads to no program.
	PathError = driver.PathError
	// Diagnostics are the mistakes and warnings of a program.
	Diagnostics = diag.List

	// Grants are what a run's caller allows the program.
	Grants = permit.Grants
	// Granted is what is allowed of one kind: everything, or a list.
	Granted = permit.List
	// Permission is a kind of thing that a program may be allowed to use.
	Permission = permit.Kind

	// HostConfig says how a host is started and spoken to.
	HostConfig = host.Config

	// ToolRegistry holds an application's tools.
	ToolRegistry = tool.Registry
	// Tool is the definition of one; NewTool makes it of a function.
	Tool = tool.Definition
	// ToolContext is what a tool's handler knows of its call, and what a session of
	// tools is opened with.
	ToolContext = tool.Context
	// ListedTool is a tool as a session lists it.
	ListedTool = tool.Listed

	// Answer is given in advance to the awaited emits of a channel.
	Answer = emit.Fixed
	// Prompter asks a person.
	Prompter = emit.Prompter
	// Listen says where a program is served over HTTP, and to whom.
	Listen = mcp.Listen

	// ModelUsage is what a run has used of one model, or of all models. The
	// tokens are those that providers reported.
	ModelUsage = budget.Usage
	// Shares are what a run has used of models, by agent, stage and task.
	Shares = transcript.Usage
	// Share is one of Shares.
	Share = transcript.Share

	// Activity is something that a run does with its hosts, an ActivityKind.
	Activity = activity.Event

	// Uncaught is the error of Run when the program failed: an error that it did
	// not catch, or a panic, with its place and trace.
	Uncaught = vm.Uncaught
	// Broken is how Run reports a compiled program that was changed.
	Broken = vm.Broken
	// Place is a place in a program.
	Place = vm.Place
	// Point is a place that tests reach or not.
	Point = vm.Point
)

// ToolOutcomes are all outcomes of calls.
var ToolOutcomes = tool.Outcomes

// The modes of output, and the same by their names for `--emit`.
const (
	ModeText = emit.Text
)

// Modes are the modes by their names.
var Modes = emit.Modes

// The permissions; Permissions has the flag and the texts of each.
const (
	PermitRead  = permit.Read
	PermitWrite = permit.Write
	PermitNet   = permit.Net
	PermitEnv   = permit.Env
	PermitRun   = permit.Run
	PermitHost  = permit.Host
)

// Permissions describe each Permission, in their order.
var Permissions = permit.Kinds

// LogLevels are the levels of a log, the one that says most first.
var LogLevels = logs.Levels

// How the names of sources and of compiled programs end.
const (
	IRExt = driver.IRExt
)

// IRVersion is the version of compiled programs that this package makes.
const IRVersion = ir.Version

// How Load and Run report what cannot be run.
var (
	ErrNotIR    = ir.ErrNotIR      // not a compiled program
	ErrVersion  = ir.ErrVersion    // of another version
	ErrInvalid  = ir.ErrInvalid    // changed after it was built
	ErrNoMain   = vm.ErrNoMain     // a program of declarations alone
	ErrNoReader = emit.ErrNoReader // nobody reads the output any more
)

// NewTerminal makes a Prompter that asks on a terminal.
var NewTerminal = emit.NewTerminal
