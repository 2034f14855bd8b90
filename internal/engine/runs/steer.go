package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// ownerCheck is the interval at which Steer checks whether the run still has a process.
const ownerCheck = 100 * time.Millisecond

// Steer sends a message to a running host of a run and waits until the run's process has sent it.
// name is the run's name in messages, by the sender; resume is the command that continues the run,
// or "" if a worker of an engine does. It returns the host's name and how the host has received the
// message. The error is a *Problem or an error of the store.
func Steer(ctx context.Context, run journal.Run, name, resume string, s journal.SteerRequest, by string) (host, outcome string, err error) {
	running, err := run.IsRunning()
	if err != nil {
		return "", "", err
	}
	if !running {
		return "", "", noHost(name, nil)
	}
	id := journal.NewSteerID()
	if err := journal.PutSteer(run, id, s, by); err != nil {
		return "", "", err
	}
	reply, err := awaitSteered(ctx, run, name, resume, id)
	switch {
	case err != nil:
		return "", "", err
	case reply.Outcome != "":
		return reply.Host, reply.Outcome, nil
	case reply.Error != "":
		return "", "", &Problem{Message: reply.Error}
	case reply.Matches > 1:
		return "", "", &Problem{Message: fmt.Sprintf("%d hosts of %s are running:%s", reply.Matches, name, hostLines(reply.Running)), Hint: "name one with --host or --workspace"}
	}
	return "", "", noHost(name, reply.Running)
}

// receivedSteer returns the journal's record of a message that a host has received, or nil. The
// message can still be stored then: the process may have been killed before it removed it.
func receivedSteer(h *journal.History, id string) *effect.SteeredNote {
	for _, r := range slices.Backward(h.Records) {
		lines := r.Translated()
		for _, i := range r.Decided {
			n := new(effect.SteeredNote)
			if i < len(lines) && json.Unmarshal([]byte(lines[i]), n) == nil && n.Key == id {
				return n
			}
		}
	}
	return nil
}

// noHost is the error for a message that no running host matches. others are the running hosts.
func noHost(run string, others []journal.SteeredHost) error {
	p := &Problem{Message: fmt.Sprintf("no host of %s is running", run)}
	if len(others) > 0 {
		p.Message += " that matches; these are:" + hostLines(others)
	}
	return p
}

func hostLines(all []journal.SteeredHost) string {
	var b strings.Builder
	for _, x := range all {
		b.WriteString("\n  " + x.Host)
		if x.Workspace != "" {
			b.WriteString("  " + x.Workspace)
		}
	}
	return b.String()
}

// awaitSteered waits for the reply to a message.
func awaitSteered(ctx context.Context, run journal.Run, name, resume, id string) (*journal.SteerReply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan struct{}, 1)
	go run.Watch(ctx, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	t := time.NewTicker(ownerCheck)
	defer t.Stop()
	for {
		reply, err := journal.TakeSteerReply(run, id)
		if reply != nil || err != nil {
			return reply, err
		}
		select {
		case <-changed:
		case <-t.C:
			if running, err := run.IsRunning(); err != nil || !running {
				return abandonSteer(run, name, resume, id, err)
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// abandonSteer returns the reply to a message to a run that has no process any more. If the run can
// be resumed, a later process sends the message, unless it was sent. At the same time another
// process may resume the run and end it.
func abandonSteer(run journal.Run, name, resume, id string, err error) (*journal.SteerReply, error) {
	if err != nil {
		return nil, err
	}
	h, err := run.Read()
	if err != nil {
		return nil, err
	}
	if reply, err := journal.TakeSteerReply(run, id); reply != nil || err != nil {
		return reply, err
	}
	if n := receivedSteer(h, id); n != nil {
		return &journal.SteerReply{Host: n.Host, Outcome: n.Outcome}, run.DropAnswer(id)
	}
	p := &Problem{Message: name + " stopped before it confirmed the message", Hint: "the worker that continues the run sends the message, unless it was sent"}
	switch stored, err := run.Answer(id); {
	case err != nil:
		return nil, err
	case stored == nil: // it was refused, or a dropped part of the journal contains it
		p.Hint = "the ledger of the run shows whether a host has received it"
	case h.Last().RecordKind == journal.KFinish:
		return &journal.SteerReply{}, run.DropAnswer(id)
	case resume != "":
		p.Hint = "a process that resumes the run sends the message, unless it was sent: " + resume
	}
	return nil, p
}
