package protocol

// Status is the status of a run.
type Status string

// The statuses of a run.
const (
	StatusRunning          Status = "running"
	StatusAwaitingInput    Status = "awaiting_input"
	StatusAwaitingApproval Status = "awaiting_approval"
	StatusExited           Status = "exited"
	StatusLost             Status = "lost" // its machine is connected and does not know it
)

// Step is a transition of a state machine: event On changes state From to state To.
type Step struct{ From, On, To string }

// None is the state before the first event.
const None = ""

// StateMachine is a state machine. Transitions that are not in Steps are invalid.
type StateMachine struct {
	Name  string
	Steps []Step
}

// Next returns the state that follows from after the event on. If the transition is invalid, ok is
// false and to is from.
func (m *StateMachine) Next(from, on string) (to string, ok bool) {
	for _, s := range m.Steps {
		if s.From == from && s.On == on {
			return s.To, true
		}
	}
	return from, false
}

// States returns the states of the machine in the order in which its steps mention them.
func (m *StateMachine) States() []string {
	var all []string
	seen := map[string]bool{None: true}
	for _, s := range m.Steps {
		for _, state := range []string{s.From, s.To} {
			if !seen[state] {
				seen[state] = true
				all = append(all, state)
			}
		}
	}
	return all
}

// IsFinal reports whether a state has no outgoing transitions.
func (m *StateMachine) IsFinal(state string) bool {
	for _, s := range m.Steps {
		if s.From == state {
			return false
		}
	}
	return state != None
}

// RunMachine is the state machine of runs.
var RunMachine = StateMachine{"run", []Step{
	{None, "started", string(StatusRunning)},
	{string(StatusRunning), "waits", string(StatusAwaitingInput)}, {string(StatusAwaitingInput), "input", string(StatusRunning)},
	{string(StatusRunning), "asks", string(StatusAwaitingApproval)}, {string(StatusAwaitingInput), "asks", string(StatusAwaitingApproval)},
	{string(StatusAwaitingApproval), "resolved", string(StatusRunning)}, {string(StatusAwaitingApproval), "resolved while it waits", string(StatusAwaitingInput)},
	{string(StatusRunning), "exited", string(StatusExited)}, {string(StatusAwaitingInput), "exited", string(StatusExited)}, {string(StatusAwaitingApproval), "exited", string(StatusExited)}, {string(StatusLost), "exited", string(StatusExited)},
	{string(StatusRunning), "absent", string(StatusLost)}, {string(StatusAwaitingInput), "absent", string(StatusLost)}, {string(StatusAwaitingApproval), "absent", string(StatusLost)},
	{string(StatusLost), "event", string(StatusRunning)}, {string(StatusLost), "event while it waits", string(StatusAwaitingInput)}, {string(StatusLost), "event while it asks", string(StatusAwaitingApproval)},
}}

// InputMachine is the state machine of inputs and stops.
var InputMachine = StateMachine{"input", []Step{
	{None, "accepted", string(InputAccepted)},
	{string(InputAccepted), string(OutcomeSent), string(InputSent)},
	{string(InputAccepted), string(OutcomeExpired), string(InputExpired)},
	{string(InputSent), string(OutcomeApplied), string(InputApplied)},
	{string(InputSent), string(OutcomeRejected), string(InputRejected)},
	{string(InputSent), string(OutcomeUnknown), string(InputIndeterminate)},
}}

// InputState is a state of InputMachine.
type InputState string

// The states of inputs, stops and decisions.
const (
	InputAccepted      InputState = "accepted"
	InputSent          InputState = "sent"
	InputApplied       InputState = "applied"
	InputRejected      InputState = "rejected"
	InputExpired       InputState = "expired"
	InputIndeterminate InputState = "indeterminate"
)

// Outcome is an event of InputMachine: what has happened to an accepted command.
type Outcome string

// The outcomes of commands.
const (
	OutcomeSent     Outcome = "sent"
	OutcomeApplied  Outcome = "applied"
	OutcomeRejected Outcome = "rejected"
	OutcomeExpired  Outcome = "expired"
	OutcomeUnknown  Outcome = "unknown" // the machine may have received the command
)

// After returns the state that follows from s after an outcome. If the transition is invalid, ok is
// false and to is s.
func (s InputState) After(on Outcome) (to InputState, ok bool) {
	next, ok := InputMachine.Next(string(s), string(on))
	return InputState(next), ok
}

// IsFinal reports whether s has no outgoing transitions.
func (s InputState) IsFinal() bool { return InputMachine.IsFinal(string(s)) }

// RequestState is a state of RequestMachine.
type RequestState string

// The states of requests.
const (
	RequestOpen      RequestState = "open"
	RequestDecided   RequestState = "decided" // the machine has not applied the decision
	RequestResolved  RequestState = "resolved"
	RequestWithdrawn RequestState = "withdrawn"
	RequestExpired   RequestState = "expired"
)

// RequestMachine is the state machine of requests.
var RequestMachine = StateMachine{"request", []Step{
	{None, "asked", string(RequestOpen)},
	{string(RequestOpen), "decided", string(RequestDecided)},
	{string(RequestDecided), "applied", string(RequestResolved)}, {string(RequestDecided), "rejected", string(RequestOpen)},
	{string(RequestOpen), "withdrawn", string(RequestWithdrawn)}, {string(RequestDecided), "withdrawn", string(RequestWithdrawn)},
	{string(RequestOpen), "expired", string(RequestExpired)}, {string(RequestDecided), "expired", string(RequestExpired)},
	{string(RequestOpen), "resolved elsewhere", string(RequestResolved)},
	{string(RequestOpen), "run exited", string(RequestWithdrawn)}, {string(RequestDecided), "run exited", string(RequestWithdrawn)},
}}

// CallState is a state of RPCMachine.
type CallState string

// The states of RPCs whose end is open.
const (
	CallAsked   CallState = "asked"
	CallRunning CallState = "running"
	CallWaiting CallState = "waiting" // for an approval
)

// CallEvent is an event of RPCMachine.
type CallEvent string

// The events of RPCs that the server observes.
const (
	CallBegun            CallEvent = "begun"
	CallGated            CallEvent = "gated"
	CallApproved         CallEvent = "approved"
	CallAnswered         CallEvent = "answered"
	CallMachineLost      CallEvent = "machine lost"
	CallMachineLostGated CallEvent = "machine lost, gated"
)

// RPCMachine is the state machine of RPCs.
var RPCMachine = StateMachine{"rpc", []Step{
	{None, "asked", string(CallAsked)},
	{string(CallAsked), string(CallBegun), string(CallRunning)}, {string(CallAsked), string(CallGated), string(CallWaiting)},
	{string(CallWaiting), string(CallApproved), string(CallRunning)}, {string(CallWaiting), "denied", "denied"},
	{string(CallWaiting), "expired", "expired"}, {string(CallWaiting), "withdrawn", "withdrawn"},
	{string(CallRunning), string(CallAnswered), "answered"}, {string(CallRunning), "failed", "failed"},
	{string(CallAsked), string(CallMachineLost), string(CallAsked)}, {string(CallRunning), string(CallMachineLost), string(CallAsked)},
	{string(CallAsked), string(CallMachineLostGated), "indeterminate"}, {string(CallRunning), string(CallMachineLostGated), "indeterminate"},
}}

// After returns the state that follows from s after an event. If the transition is invalid, ok is
// false and to is s.
func (s CallState) After(on CallEvent) (to CallState, ok bool) {
	next, ok := RPCMachine.Next(string(s), string(on))
	return CallState(next), ok
}

// StateMachines lists all state machines.
var StateMachines = []*StateMachine{&RunMachine, &InputMachine, &RequestMachine, &RPCMachine}
