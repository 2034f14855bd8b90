package protocol

import "fmt"

// Code is the reason why a message was refused.
type Code string

// The codes of refusals.
const (
	BadMessage      Code = "bad_message"
	UnknownType     Code = "unknown_type"
	Unauthorized    Code = "unauthorized"
	Forbidden       Code = "forbidden"
	UnknownRun      Code = "unknown_run"
	UnknownMachine  Code = "unknown_host"
	MachineOffline  Code = "host_offline"
	MachineMismatch Code = "host_mismatch"
	NotOwner        Code = "not_owner"
	SeqConflict     Code = "seq_conflict"
	BadCursor       Code = "bad_cursor"
	RunHasExited    Code = "run_exited"
	UnknownRequest  Code = "unknown_request"
	AlreadyDecided  Code = "already_decided"
	ArgsChanged     Code = "args_changed"
	InvalidAnswer   Code = "invalid_answer"
	InputConflict   Code = "input_conflict"
	Expired         Code = "expired"
	TooLarge        Code = "too_large"
	RateLimited     Code = "rate_limited"
	Internal        Code = "internal"

	Unsupported    Code = "unsupported"
	UnknownDevice  Code = "unknown_device"
	PageNotTrusted Code = "page_not_trusted"
	BadSignature   Code = "bad_signature"
	WrongRequest   Code = "wrong_request"
	Replayed       Code = "replayed"
	Reordered      Code = "reordered"
	Stale          Code = "stale"
	RosterFork     Code = "roster_fork"
	RosterConflict Code = "roster_conflict"
	UnknownAccount Code = "unknown_account"
	SealedRequired Code = "sealed_required"
)

// CodeInfo describes a Code.
type CodeInfo struct {
	Code Code
	HTTP int // HTTP status of a response with the code
	Doc  string
}

// Codes describes all codes.
var Codes = []CodeInfo{
	{BadMessage, 400, "it is not JSON, has no type, or a field has the wrong type"},
	{UnknownType, 404, "the command is unknown"},
	{Unauthorized, 401, "missing or wrong credentials"},
	{Forbidden, 403, "the role does not allow it, or the machine never allows it"},
	{UnknownRun, 404, "there is no such run, or the client may not see it"},
	{UnknownMachine, 404, "there is no such machine, or the client may not see it"},
	{MachineOffline, 409, "the machine is not connected"},
	{MachineMismatch, 409, "the envelope names another machine than the connection's"},
	{NotOwner, 409, "the run belongs to another machine"},
	{SeqConflict, 409, "another event has this seq"},
	{BadCursor, 400, "the cursor is beyond the run's end"},
	{RunHasExited, 409, "the run has ended"},
	{UnknownRequest, 404, "the run has no such request"},
	{AlreadyDecided, 409, "the request is already decided"},
	{ArgsChanged, 409, "the decision is for arguments that differ from the request's"},
	{InvalidAnswer, 409, "the answer has the wrong form; the message names the field"},
	{InputConflict, 409, "the id was used for another input"},
	{Expired, 409, "it has expired"},
	{TooLarge, 413, "it exceeds the maximum size"},
	{RateLimited, 429, "too many in too short a time; retry_after_ms is the time to wait before a retry"},
	{Internal, 503, "the store cannot write, or an internal error of the relay"},
	{Unsupported, 400, "it was signed by a later version: update concerto-relay on this side"},
	{UnknownDevice, 403, "no device of the machine's account has signed it: enrol this device (on the machine: concerto-relay devices add)"},
	{PageNotTrusted, 403, "the account's policy does not allow the page of this device to decide this request: use another page or the command line"},
	{BadSignature, 403, "the signature does not match what arrived: the server, or someone with its access, has changed it; check the relay"},
	{WrongRequest, 403, "it was signed for another machine, run, request or command: the server, or someone with its access, has moved it; check the relay"},
	{Replayed, 409, "it was already used: the server, or someone with its access, has sent it again; send a new command"},
	{Reordered, 409, "an earlier input of the device has not arrived: send the input again"},
	{Stale, 409, "it was signed too long ago: check the run, and send it again"},
	{RosterFork, 409, "the account has two lists of members: run concerto-relay seal status --resolve on the machine"},
	{RosterConflict, 409, "the roster has another line with this number: read the roster, and sign the change again"},
	{SealedRequired, 403, "the server accepts only what it cannot read: use an enrolled device, or create an account (on the machine: concerto-relay seal init)"},
	{UnknownAccount, 404, "the server has no roster of this account: run concerto-relay seal status on a machine of the account"},
}

// HTTPStatus returns the HTTP status of a code.
func HTTPStatus(c Code) int {
	for _, row := range Codes {
		if row.Code == c {
			return row.HTTP
		}
	}
	return 500
}

// RPCCode is the reason why an RPC failed.
type RPCCode string

// Codes of RPCs that do not occur in Codes.
const (
	OutOfScope        RPCCode = "out_of_scope"
	NotRegular        RPCCode = "not_regular"
	NotText           RPCCode = "not_text"
	NotFound          RPCCode = "not_found"
	Changed           RPCCode = "changed"
	MissingDependency RPCCode = "missing_dependency"
	BadPattern        RPCCode = "bad_pattern"
	NoLog             RPCCode = "no_log"
	Denied            RPCCode = "denied"
	Withdrawn         RPCCode = "withdrawn"
	Timeout           RPCCode = "timeout"
)

// RPCCodes lists all codes that an rpc.response may contain.
var RPCCodes = []RPCCode{
	RPCCode(BadMessage), OutOfScope, NotRegular, NotText, NotFound, Changed, RPCCode(TooLarge), MissingDependency, BadPattern, NoLog, Denied,
	RPCCode(Expired), Withdrawn, RPCCode(ArgsChanged), Timeout, RPCCode(RunHasExited), RPCCode(Forbidden), RPCCode(MachineOffline),
	RPCCode(UnknownRun), RPCCode(UnknownMachine), RPCCode(UnknownType), RPCCode(InputConflict), RPCCode(Internal),
	RPCCode(Unsupported), RPCCode(UnknownDevice), RPCCode(BadSignature), RPCCode(WrongRequest), RPCCode(Replayed), RPCCode(Stale), RPCCode(RosterFork), RPCCode(SealedRequired),
}

// Close codes of connections (RFC 6455, section 7.4). The codes from 4401 on are specific to the
// relay.
const (
	CloseBinary      = 1003
	CloseInvalidUTF8 = 1007
	ClosePolicy      = 1008 // more than MaxBadMessages invalid messages within a minute
	CloseTooBig      = 1009
	CloseInternal    = 1011 // the server could not store the data; the sender should send it again
	CloseRestart     = 1012

	CloseUnauthorized = 4401 // the credentials are no longer valid
	CloseForbidden    = 4403
	CloseTooSlow      = 4408
	CloseSuperseded   = 4409
	CloseStaleEpoch   = 4410
	CloseRateLimited  = 4429
)

// Refusal describes why a frame was refused. If Close is not 0, the connection is closed with this
// close code.
type Refusal struct {
	Code  Code
	Why   string
	Close int
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Why) }

func bad(format string, args ...any) *Refusal {
	return &Refusal{Code: BadMessage, Why: fmt.Sprintf(format, args...)}
}
