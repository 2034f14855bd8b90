package push

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/relay/protocol"
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
	return p.notifyEnd(ctx, run, user, subs)
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
		if removed, err := p.c.Store.RemoveNotice(ctx, run.ID, n.RequestID); err != nil || !removed {
			if err != nil {
				return err
			}
			continue
		}
		if err := p.withdraw(ctx, run, n.RequestID, subs); err != nil {
			return err
		}
	}
	return nil
}

// note is the content of a message. The browser's service worker displays it.
type note struct {
	Title     string `json:"title"`
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"` // "" for a message about the end of a run
	Summary   string `json:"summary"`
	// Withdrawn reports that the request is closed. The service worker then closes the
	// notification.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// maxDelay is how long a push service stores a message about a request without an expiry.
const maxDelay = 24 * time.Hour

func (p *Push) announce(ctx context.Context, run *store.Run, q *store.Request, subs []*store.Subscription) error {
	ends := p.c.Now().Add(maxDelay)
	if at, err := time.Parse(time.RFC3339, store.Text(q.Data, "expires_at")); err == nil && at.Before(ends) {
		ends = at
	}
	n := note{Title: title(run), RunID: run.ID, RequestID: q.ID, Summary: summary(q)}
	return p.sendEach(ctx, run, subs, n, "high", ends, mayDecide, func() {
		if err := p.c.Store.MarkNoticeSent(ctx, run.ID, q.ID); err != nil && ctx.Err() == nil {
			p.c.Log.Error("could not store which push messages were sent", "run", run.ID, "error", err)
		}
	})
}

func (p *Push) withdraw(ctx context.Context, run *store.Run, request string, subs []*store.Subscription) error {
	n := note{Title: title(run), RunID: run.ID, RequestID: request, Summary: "it is decided, or was withdrawn", Withdrawn: true}
	return p.sendEach(ctx, run, subs, n, "normal", p.c.Now().Add(maxDelay), mayDecide, nil)
}

func (p *Push) notifyEnd(ctx context.Context, run *store.Run, user string, subs []*store.Subscription) error {
	how := "it has ended"
	if run.ExitCode != nil {
		how = fmt.Sprintf("it has ended: exit code %d", *run.ExitCode)
	}
	n := note{Title: title(run), RunID: run.ID, Summary: how}
	return p.sendEach(ctx, run, subs, n, "normal", p.c.Now().Add(maxDelay), func(id *auth.Identity) bool { return id.Name == user }, nil)
}

func mayDecide(id *auth.Identity) bool { return id.May(auth.Decide) }

// sendEach sends a note to the subscribers that have the right to receive it and may see the run.
// It calls done after all attempts have ended.
func (p *Push) sendEach(ctx context.Context, run *store.Run, subs []*store.Subscription, n note, urgency string, ends time.Time, may func(*auth.Identity) bool, done func()) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
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

const (
	maxTitle   = 80 // in characters
	maxSummary = 160
)

func title(run *store.Run) string {
	for _, text := range []string{run.Title, run.Tool} {
		if text = oneLine(text, maxTitle); text != "" {
			return text
		}
	}
	return run.ID
}

// summary describes a request. It omits the arguments, because a notification may be visible on a
// locked screen, but includes the prompt of a question that a program asks.
func summary(q *store.Request) string {
	var d protocol.PermissionRequested
	if json.Unmarshal(q.Data, &d) != nil {
		return "it has a request" // the request is encrypted
	}
	if d.From != nil && d.From.WantsValue() && d.OpTool == "" {
		text := terminal.Brief(strings.TrimSpace(d.Prompt), maxSummary)
		if d.Redacted {
			text += protocol.RedactedNote
		}
		return text
	}
	what := map[string]string{"permission": "it requests a permission", "choice": "it requests a choice", "prompt": "it requests an input"}[d.Reason]
	if what == "" {
		what = "it has a request"
	}
	if d.OpTool != "" {
		what += ": " + oneLine(d.OpTool, maxTitle)
	}
	return what
}

// oneLine returns a text as one line of at most most characters. It escapes invisible characters,
// for example as `\u{200b}`, and marks a shortened text with an ellipsis.
func oneLine(text string, most int) string {
	text = terminal.OneLine(strings.Join(strings.Fields(text), " "))
	if all := []rune(text); len(all) > most {
		text = string(all[:most-1]) + "…"
	}
	return text
}
