package link

import (
	"context"
	"encoding/json"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Gate decides which commands and RPCs of the server are performed. It is called before each of
// them, also for those that arrive again.
type Gate interface {
	// Admit returns what to do with a command. If isLast is set, the result has no Later. Admit may
	// be called concurrently, but not for two commands of one run.
	Admit(ctx context.Context, e *protocol.Envelope, isLast bool) Admission
}

// Admission is the decision on a command. If Command is nil, the command is not performed.
type Admission struct {
	Command *protocol.Envelope // the command to perform
	// Repeated means that the command was admitted before. It may only be performed if that has no
	// second effect.
	Repeated bool
	// Signed is {sig, statement} of a decision that a device has signed. It is nil for other
	// commands, and without an account.
	Signed json.RawMessage
	// Device is the id of the device that has signed the command. It is "" without an account.
	Device string
	// Unsigned means that anyone who knows the server's secrets may have sent the command.
	Unsigned bool
	// Done, if not nil, is called with the outcome of the performed command.
	Done func(Outcome)

	Outcome Outcome       // of a command that is not performed
	Code    protocol.Code // why it was refused; "" if it was not
	// Later means that an earlier command has not arrived yet. The link waits for it, and calls
	// Admit again.
	Later bool
	// Sealed means that the server must not learn more about the outcome than its state and code.
	Sealed bool
	// Seal returns enc and data of the response to a sealed RPC. It is nil for other commands.
	Seal func(protocol.Response) (enc, data json.RawMessage, err error)
}

// laterTimeout is the time that a command waits for an earlier one.
const laterTimeout = 5 * time.Second

// maxParked is the maximum number of commands of a run that wait for an earlier one.
const maxParked = 32

// openGate admits all commands.
type openGate struct{}

func (openGate) Admit(_ context.Context, e *protocol.Envelope, _ bool) Admission {
	return Admission{Command: e}
}

// queuedCommand is a command of a run.
type queuedCommand struct {
	e      *protocol.Envelope
	parked bool // it waits for an earlier command, or has waited
	isLast bool // it has waited long enough
}

// runQueue contains the commands of a run. They are performed one after another.
type runQueue struct {
	waiting []*queuedCommand
	parked  []*queuedCommand // waiting for an earlier command, in the order of arrival
	busy    bool             // a goroutine performs the commands
}

// drain performs the commands of a run until none waits.
func (l *Link) drain(run string) {
	for {
		l.queues.mu.Lock()
		q := l.queues.byRun[run]
		if len(q.waiting) == 0 {
			if q.busy = false; len(q.parked) == 0 {
				delete(l.queues.byRun, run)
			}
			l.queues.mu.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		isLast := next.isLast || len(q.parked) >= maxParked
		l.queues.mu.Unlock()
		performed := l.runCommand(l.ctx, next.e, isLast)
		l.queues.mu.Lock()
		if performed {
			q.waiting, q.parked = append(q.parked, q.waiting...), nil
		} else {
			q.parked = append(q.parked, next)
		}
		l.queues.mu.Unlock()
		if !performed && !next.parked {
			next.parked = true
			l.work.Go(func() { l.endWait(run, next) })
		}
	}
}

// endWait ends the wait of a parked command after laterTimeout. The command is then refused if the
// earlier one has not arrived.
func (l *Link) endWait(run string, c *queuedCommand) {
	select {
	case <-l.o.Clock.After(laterTimeout):
	case <-l.ctx.Done():
		return
	}
	l.queues.mu.Lock()
	defer l.queues.mu.Unlock()
	c.isLast = true
	q := l.queues.byRun[run]
	if q == nil {
		return
	}
	for i, one := range q.parked {
		if one != c {
			continue
		}
		q.parked = append(q.parked[:i:i], q.parked[i+1:]...)
		q.waiting = append(q.waiting, c)
		l.start(run, q)
		return
	}
}

// start performs the waiting commands of a run in the background, unless that already happens. The
// caller holds queues.mu.
func (l *Link) start(run string, q *runQueue) {
	if !q.busy {
		q.busy = true
		l.work.Go(func() { l.drain(run) })
	}
}
