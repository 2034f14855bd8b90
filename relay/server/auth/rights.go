package auth

import (
	"net/http"
	"slices"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Role is what somebody may do; each may do what those before it may.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Owner    Role = "owner"
)

// Roles are all roles, in their order.
var Roles = []Role{Viewer, Operator, Owner}

// least is the lower of two roles; a role that is none is below all.
func least(a, b Role) Role {
	if slices.Index(Roles, a) < slices.Index(Roles, b) {
		return a
	}
	return b
}

// Right is something that one may do or not.
type Right string

// The rights.
const (
	Open         Right = "open" // to anybody, without credentials
	Self         Right = "self" // about the own credentials
	Read         Right = "read"
	ReadHosts    Right = "read hosts"
	Input        Right = "input"
	Decide       Right = "decide"
	Stop         Right = "stop"
	AskRun       Right = "ask a run's host"
	AskHost      Right = "ask a host"
	ManageTokens Right = "tokens"
	ManageUsers  Right = "users"
	ManageHosts  Right = "hosts"
	ReadAudit    Right = "audit"
	ReadMetrics  Right = "metrics"
)

// RightInfo is a row of the table of rights.
type RightInfo struct {
	Right Right
	Role  Role // the least that has it; "" for who has no credentials
	// Whole says that a token for some runs does not have it: it is about more than runs.
	Whole bool
	// Audit is the kind under which a try of who does not have it is recorded; "" when it is not.
	Audit string
	Doc   string
}

// Rights are all rights.
var Rights = []RightInfo{
	{Open, "", false, "", "health, and logging in"},
	{Self, Viewer, false, "", "who one is, tickets, logging out"},
	{Read, Viewer, false, "", "runs, their events, messages and requests"},
	{ReadHosts, Viewer, true, "", "which hosts there are"},
	{Input, Operator, false, "input", "writing to a run, and the size of its terminal"},
	{Decide, Operator, false, "decision", "approving, denying, answering"},
	{Stop, Operator, false, "stop", "ending a run"},
	{AskRun, Operator, false, "rpc", "files, git and commands in a run's directory"},
	{AskHost, Operator, true, "rpc", "starting runs, and asking a host about itself"},
	{ManageTokens, Owner, true, "token_created", "tokens of all"},
	{ManageUsers, Owner, true, "user_changed", "users"},
	{ManageHosts, Owner, true, "host_removed", "pairing and removing hosts"},
	{ReadAudit, Owner, true, "", "the audit log"},
	{ReadMetrics, Owner, true, "", "figures of the server"},
}

// Info is a right's row.
func (r Right) Info() *RightInfo {
	i := slices.IndexFunc(Rights, func(row RightInfo) bool { return row.Right == r })
	if i < 0 {
		panic("auth: no right " + string(r))
	}
	return &Rights[i]
}

// commands are the rights that commands need.
var commands = map[string]Right{
	protocol.RunSendInput: Input, protocol.RunSendKeys: Input, protocol.RunResize: Input,
	protocol.RunStop: Stop, protocol.RunApprove: Decide, protocol.RunDeny: Decide,
	protocol.RunSubscribe: Read, protocol.RunUnsubscribe: Read, protocol.Hello: Self,
	"rpc.runs.list": AskHost, "rpc.run.stop": Stop,
}

// OfMessage is the right that a message of an app needs; false when apps do not send it.
func OfMessage(typ string) (Right, bool) {
	if r, ok := commands[typ]; ok {
		return r, true
	}
	row := protocol.Find(typ)
	switch {
	case row == nil || row.Kind != protocol.RPC:
		return "", false
	case row.OfHost:
		return AskHost, true
	}
	return AskRun, true
}

// Route is something that is served: a row of a table.
type Route struct {
	Method, Path string // as http.ServeMux has them
	Right        Right
	// Handle is called with who asks, and has the right; nil where the right is Open.
	Handle func(w http.ResponseWriter, r *http.Request, id *Identity)
}
