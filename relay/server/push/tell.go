package push

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/protocol/notice"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

// Changed schedules a check of the given runs. It does not block.
func (p *Push) Changed(runs ...string) {
	p.mu.Lock()
	for _, run := range runs {
		p.hints[run] = struct{}{}
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Started records that a user has started a run. It does not block.
func (p *Push) Started(run, user string) {
	p.mu.Lock()
	p.starts[run] = user
	p.mu.Unlock()
	p.Changed(run) // the run may have ended already
}

// run checks all runs once, and then each changed run.
func (p *Push) run() {
	defer close(p.done)
	ctx := p.send.ctx
	begun, err := p.c.Store.RunsToNotify(ctx)
	if err != nil && ctx.Err() == nil {
		p.c.Log.Error("could not read the pending push messages", "error", err)
	}
	for _, run := range begun {
		p.checkRun(ctx, run, true)
	}
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		runs, starts := p.hints, p.starts
		p.hints, p.starts = map[string]struct{}{}, map[string]string{}
		p.mu.Unlock()
		for _, run := range slices.Sorted(maps.Keys(starts)) {
			if err := p.c.Store.RecordStarter(ctx, run, starts[run]); err != nil && ctx.Err() == nil {
				p.c.Log.Error("could not store who started a run", "run", run, "error", err)
			}
		}
		for _, run := range slices.Sorted(maps.Keys(runs)) {
			p.checkRun(ctx, run, false)
		}
	}
}

func (p *Push) checkRun(ctx context.Context, run string, first bool) {
	if err := p.notifyRun(ctx, run, first); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnknown) {
		p.c.Log.Error("could not send a request as a push message", "run", run, "error", err)
	}
}

// notifyRun sends the pending messages about a run. first is set for the check after the start,
// which also sends messages that another server had begun to send.
func (p *Push) notifyRun(ctx context.Context, id string, first bool) error {
	run, err := p.c.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	if err := p.notifyRequests(ctx, run, first); err != nil {
		return err
	}
	if run.Status != protocol.StatusExited {
		return nil
	}
	user, err := p.c.Store.TakeStarter(ctx, id)
	if err != nil || user == "" {
		return err
	}
	subs, err := p.c.Store.Subscriptions(ctx)
	if err != nil {
		return err
	}
	if err := p.notifyEnd(ctx, run, user, subs); err != nil || !run.Sealed {
		return err
	}
	return store.RemovePushBodies(ctx, p.c.Store, id, "")
}

func (p *Push) notifyRequests(ctx context.Context, run *store.Run, first bool) error {
	noted, err := p.c.Store.Notices(ctx, run.ID)
	if err != nil {
		return err
	}
	open, err := p.c.Store.Requests(ctx, run.ID)
	if err != nil || len(open) == 0 && len(noted) == 0 {
		return err
	}
	// The subscriptions are read after the requests. Otherwise a browser that subscribes in between
	// would miss a request that is added after it.
	subs, err := p.c.Store.Subscriptions(ctx)
	if err != nil || len(subs) == 0 && len(noted) == 0 {
		return err
	}
	was, is := map[string]store.Notice{}, map[string]bool{}
	for _, n := range noted {
		was[n.RequestID] = n
	}
	for _, q := range open {
		is[q.ID] = true
		n, noted := was[q.ID]
		switch {
		case q.State != protocol.RequestOpen || noted && (n.Sent || !first):
			continue
		case !noted:
			if fresh, err := p.c.Store.ClaimNotice(ctx, run.ID, q.ID); err != nil || !fresh {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := p.announce(ctx, run, q, subs); err != nil {
			return err
		}
	}
	for _, n := range noted {
		if is[n.RequestID] {
			continue
		}
		if wait, err := p.awaitsOutcome(ctx, run, n.RequestID); err != nil || wait {
			if err != nil {
				return err
			}
			continue
		}
		if removed, err := p.c.Store.RemoveNotice(ctx, run.ID, n.RequestID); err != nil || !removed {
			if err != nil {
				return err
			}
			continue
		}
		if err := p.withdraw(ctx, run, n.RequestID, subs); err != nil {
			return err
		}
		if run.Sealed {
			if err := store.RemovePushBodies(ctx, p.c.Store, run.ID, n.RequestID); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitsOutcome reports whether the outcome of a closed request follows, with its bodies: an input
// closes a request before the machine reports the outcome. Browsers do not close a notification
// that a machine has sealed without a body of the outcome.
func (p *Push) awaitsOutcome(ctx context.Context, run *store.Run, request string) (bool, error) {
	if !run.Sealed || run.Status == protocol.StatusExited {
		return false, nil
	}
	asked, err := store.ReadPushBodies(ctx, p.c.Store, run.ID, request, protocol.RunPermissionRequested)
	if err != nil || asked == nil {
		return false, err
	}
	outcome, err := store.ReadPushBodies(ctx, p.c.Store, run.ID, request, protocol.RunPermissionResolved)
	return outcome == nil, err
}

// note is the content of a message. The browser's service worker displays it.
type note struct {
	Title     string `json:"title"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"` // "" for a message about the end of a run
	Summary   string `json:"summary"`
	// Withdrawn reports that the request is closed. The service worker then closes the
	// notification.
	Withdrawn bool   `json:"withdrawn,omitempty"`
	MachineID string `json:"host_id"`
	Sealed    *body  `json:"sealed,omitempty"`
}

// body is the sealed text of a message, which only the browser can read.
type body struct {
	Type   string `json:"type"` // of the event
	Epoch  int64  `json:"epoch"`
	Device string `json:"device"`
	CT     string `json:"ct"`
}

// sealedFor returns the note for a subscription. bodies are those of an event of the given type, or
// nil.
func (n note) sealedFor(sub *store.Subscription, typ string, bodies *store.PushBodies) note {
	if bodies == nil {
		return n
	}
	for _, device := range sub.Devices {
		if ct, ok := bodies.Bodies[device]; ok {
			n.Title, n.Summary, n.Sealed = "", "", &body{typ, bodies.Epoch, device, ct}
			break
		}
	}
	return n
}

// maxDelay is how long a push service stores a message about a request without an expiry.
const maxDelay = 24 * time.Hour

func (p *Push) announce(ctx context.Context, run *store.Run, q *store.Request, subs []*store.Subscription) error {
	ends := p.c.Now().Add(maxDelay)
	if at, err := time.Parse(time.RFC3339, store.Text(q.Data, "expires_at")); err == nil && at.Before(ends) {
		ends = at
	}
	n := note{Title: titleOf(run), RunID: run.ID, RequestID: q.ID, Summary: notice.Request(q.Data)}
	return p.sendEach(ctx, run, subs, n, protocol.RunPermissionRequested, "high", ends, mayDecide, func() {
		if err := p.c.Store.MarkNoticeSent(ctx, run.ID, q.ID); err != nil && ctx.Err() == nil {
			p.c.Log.Error("could not store which push messages were sent", "run", run.ID, "error", err)
		}
	})
}

func (p *Push) withdraw(ctx context.Context, run *store.Run, request string, subs []*store.Subscription) error {
	n := note{Title: titleOf(run), RunID: run.ID, RequestID: request, Summary: notice.Closed, Withdrawn: true}
	return p.sendEach(ctx, run, subs, n, protocol.RunPermissionResolved, "normal", p.c.Now().Add(maxDelay), mayDecide, nil)
}

func (p *Push) notifyEnd(ctx context.Context, run *store.Run, user string, subs []*store.Subscription) error {
	n := note{Title: titleOf(run), RunID: run.ID, Summary: notice.End(exitCode(run))}
	return p.sendEach(ctx, run, subs, n, protocol.RunExited, "normal", p.c.Now().Add(maxDelay), func(id *auth.Identity) bool { return id.Name == user }, nil)
}

// exitCode returns the exit code of a run, or nil if the server does not know it.
func exitCode(run *store.Run) *int64 {
	if run.Sealed {
		return nil
	}
	return run.ExitCode
}

func titleOf(run *store.Run) string { return notice.Title(run.Title, run.Tool, run.ID) }

func mayDecide(id *auth.Identity) bool { return id.May(auth.Decide) }

// sendEach sends a note about an event of type typ to the subscribers that have the right to
// receive it and may see the run. It calls done after all attempts have ended.
func (p *Push) sendEach(ctx context.Context, run *store.Run, subs []*store.Subscription, n note, typ, urgency string, ends time.Time, may func(*auth.Identity) bool, done func()) error {
	n.MachineID = run.MachineID
	var bodies *store.PushBodies
	if run.Sealed {
		var err error
		if bodies, err = store.ReadPushBodies(ctx, p.c.Store, run.ID, n.RequestID, typ); err != nil {
			return err
		}
	}
	var left atomic.Int64
	left.Add(1)
	one := func() {
		if left.Add(-1) == 0 && done != nil {
			done()
		}
	}
	for _, sub := range subs {
		id, err := p.c.Auth.Holder(ctx, sub.Token)
		switch {
		case err != nil:
			return err
		case id == nil: // the credential of the subscription has ended
			p.removeSubscription(ctx, sub.Endpoint)
			continue
		case !may(id) || !id.Sees(run.ID):
			continue
		}
		text, err := json.Marshal(n.sealedFor(sub, typ, bodies))
		if err != nil {
			return err
		}
		left.Add(1)
		p.send.put(&message{to: sub, topic: topic(run.ID, n.RequestID), text: text, urgency: urgency, ends: ends, done: one})
	}
	one()
	return nil
}

// topic returns the topic of the messages about a request. A push service replaces a queued message
// with a later one of the same topic.
func topic(run, request string) string {
	sum := sha256.Sum256([]byte(run + "/" + request))
	return raw.EncodeToString(sum[:])[:32] // 32 is the maximum length of a topic
}
