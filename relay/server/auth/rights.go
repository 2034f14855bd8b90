package auth

import (
	"net/http"
	"slices"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Role is a role of users and tokens. Each role includes the lower ones.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"
	Approver Role = "approver" // reads and decides
	Operator Role = "operator"
	Owner    Role = "owner"
)

// Roles lists the roles in ascending order.
var Roles = []Role{Viewer, Approver, Operator, Owner}

// least returns the lower of two roles. An unknown role is lower than all others.
func least(a, b Role) Role {
	if slices.Index(Roles, a) < slices.Index(Roles, b) {
		return a
	}
	return b
}

// Right is a permission.
type Right string

// The rights.
const (
	Open           Right = "open" // requires no credentials
	Self           Right = "self" // requires any credentials; for routes about the caller's own credentials
	Read           Right = "read"
	ReadMachines   Right = "read machines"
	Input          Right = "input"
	Decide         Right = "decide"
	Stop           Right = "stop"
	AskRun         Right = "ask a run's machine"
	AskMachine     Right = "ask a machine"
	ManageTokens   Right = "tokens"
	ManageUsers    Right = "users"
	ManageMachines Right = "hosts"
	ReadAudit      Right = "audit"
	ReadMetrics    Right = "metrics"
)

// RightInfo describes a right.
type RightInfo struct {
	Right Right
	Role  Role // the lowest role that has the right; "" means that no credentials are required
	// Whole denies the right to tokens that are limited to some runs.
	Whole bool
	// Audit is the kind of the audit record for a refused attempt; "" means that none is written.
	Audit string
	Doc   string
}

// Rights lists all rights.
var Rights = []RightInfo{
	{Open, "", false, "", "health, and logging in"},
	{Self, Viewer, false, "", "who one is, tickets, logging out"},
	{Read, Viewer, false, "", "runs, their events, messages and requests"},
	{ReadMachines, Viewer, true, "", "which machines there are"},
	{Input, Operator, false, "input", "writing to a run, and the size of its terminal"},
	{Decide, Approver, false, "decision", "approving, denying, answering"},
	{Stop, Operator, false, "stop", "ending a run"},
	{AskRun, Operator, false, "rpc", "files, git and commands in a run's directory"},
	{AskMachine, Operator, true, "rpc", "starting runs, and asking a machine about itself"},
	{ManageTokens, Owner, true, "token_created", "tokens of all"},
	{ManageUsers, Owner, true, "user_changed", "users"},
	{ManageMachines, Owner, true, "host_removed", "pairing and removing machines"},
	{ReadAudit, Owner, true, "", "the audit log"},
	{ReadMetrics, Owner, true, "", "figures of the server"},
}

// Info returns the description of a right.
func (r Right) Info() *RightInfo {
	i := slices.IndexFunc(Rights, func(row RightInfo) bool { return row.Right == r })
	if i < 0 {
		panic("auth: no right " + string(r))
	}
	return &Rights[i]
}

// commands maps message types to the rights that they need.
var commands = map[string]Right{
	protocol.RunSendInput: Input, protocol.RunSendKeys: Input, protocol.RunResize: Input,
	protocol.RunStop: Stop, protocol.RunApprove: Decide, protocol.RunDeny: Decide, protocol.RunDecide: Decide,
	protocol.RunSubscribe: Read, protocol.RunUnsubscribe: Read, protocol.Hello: Self,
	protocol.RPCListRuns: AskMachine, protocol.RPCStopRun: Stop,
}

// OfMessage returns the right that an app needs to send a type of message. The second result is
// false if apps cannot send that type.
func OfMessage(typ string) (Right, bool) {
	if r, ok := commands[typ]; ok {
		return r, true
	}
	row := protocol.Find(typ)
	switch {
	case row == nil || row.Kind != protocol.RPC:
		return "", false
	case row.OfMachine:
		return AskMachine, true
	}
	return AskRun, true
}

// Route is a route of the HTTP API.
type Route struct {
	Method, Path string // as for http.ServeMux
	Right        Right
	Machine      bool // also machines may use the route
	// Handle receives the caller, who has the right, or nil if the right is Open
	// or the caller is a machine.
	Handle func(w http.ResponseWriter, r *http.Request, id *Identity)
}
