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
	{None, "started", "running"},
	{"running", "waits", "awaiting_input"}, {"awaiting_input", "input", "running"},
	{"running", "asks", "awaiting_approval"}, {"awaiting_input", "asks", "awaiting_approval"},
	{"awaiting_approval", "resolved", "running"}, {"awaiting_approval", "resolved while it waits", "awaiting_input"},
	{"running", "exited", "exited"}, {"awaiting_input", "exited", "exited"}, {"awaiting_approval", "exited", "exited"}, {"lost", "exited", "exited"},
	{"running", "absent", "lost"}, {"awaiting_input", "absent", "lost"}, {"awaiting_approval", "absent", "lost"},
	{"lost", "event", "running"}, {"lost", "event while it waits", "awaiting_input"}, {"lost", "event while it asks", "awaiting_approval"},
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

// RequestMachine is the state machine of requests.
var RequestMachine = StateMachine{"request", []Step{
	{None, "asked", "open"},
	{"open", "decided", "decided"},
	{"decided", "applied", "resolved"}, {"decided", "rejected", "open"},
	{"open", "withdrawn", "withdrawn"}, {"decided", "withdrawn", "withdrawn"},
	{"open", "expired", "expired"}, {"decided", "expired", "expired"},
	{"open", "resolved elsewhere", "resolved"},
	{"open", "run exited", "withdrawn"}, {"decided", "run exited", "withdrawn"},
}}

// RPCMachine is the state machine of RPCs.
var RPCMachine = StateMachine{"rpc", []Step{
	{None, "asked", "asked"},
	{"asked", "begun", "running"}, {"asked", "gated", "waiting"}, {"waiting", "approved", "running"},
	{"waiting", "denied", "denied"}, {"waiting", "expired", "expired"}, {"waiting", "withdrawn", "withdrawn"},
	{"running", "answered", "answered"}, {"running", "failed", "failed"},
	{"asked", "machine lost", "asked"}, {"running", "machine lost", "asked"},
	{"asked", "machine lost, gated", "indeterminate"}, {"running", "machine lost, gated", "indeterminate"},
}}

// StateMachines lists all state machines.
var StateMachines = []*StateMachine{&RunMachine, &InputMachine, &RequestMachine, &RPCMachine}
