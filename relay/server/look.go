package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// look looks for what others have done, until the server ends.
func (o *others) look() {
	tick := time.NewTicker(protocol.ReplicaPoll)
	defer tick.Stop()
	var all time.Time // when all was looked at last
	for {
		select {
		case <-o.srv.ctx.Done():
			return
		case <-o.lookers:
		case <-tick.C:
			if o.bus != nil && o.bus.Up() && time.Since(all) < protocol.ReplicaCheck {
				continue
			}
			all = time.Now()
			o.kick(lookAll)
		}
		o.mu.Lock()
		what := o.todo
		o.todo = 0
		o.mu.Unlock()
		o.lookAt(what)
	}
}

func (o *others) lookAt(what look) {
	ctx := o.srv.ctx
	for _, one := range []struct {
		what look
		do   func(context.Context) error
	}{{lookMail, o.mail}, {lookRuns, o.runs}, {lookHosts, o.hosts}, {lookCommands, o.commands}, {lookCalls, o.calls}} {
		if what&one.what == 0 {
			continue
		}
		if err := one.do(ctx); err != nil && ctx.Err() == nil {
			o.srv.log.Error("what other servers have done could not be looked at", slog.Any("error", err))
			return
		}
	}
}

// runs finds the runs of which there is more, and tells who follows them.
func (o *others) runs(ctx context.Context) error {
	if !o.shared {
		return nil
	}
	o.runsMu.Lock()
	defer o.runsMu.Unlock()
	if o.since == 0 {
		return o.begin(ctx)
	}
	all, next, err := o.srv.store.Changes(ctx, o.since)
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := o.more(ctx, c); err != nil {
			return err
		}
	}
	o.since = next
	return o.forget(ctx)
}

// knownRuns is how many ended runs that nobody has named the hub may know before it forgets them.
const knownRuns = 4096

// forgetting is what has to do with ended runs that the hub need not know.
type forgetting struct {
	most   int              // of them that it may know
	runs   map[string]int64 // those that it is about to forget, with their prefixes then; nil when there are none
	events int64            // the last event then
	stamp  int64            // what was under way then is over when this is looked from
}

// forget has the hub forget ended runs when it knows too many. What comes of one after all is then
// found as it is of a run that had ended when this server began. That needs the number of an event
// such that what has lower numbers was told. So a run is forgotten only when nothing has come of it
// since that number was read, and no transaction that may have taken a lower number is under way.
func (o *others) forget(ctx context.Context) (err error) {
	f := &o.forgets
	if f.runs == nil {
		runs := o.srv.hub.ended()
		if len(runs) <= f.most {
			return nil
		}
		if f.events, f.stamp, err = o.srv.store.LastEvent(ctx); err == nil {
			f.runs = runs
		}
		return err
	}
	if o.since < f.stamp {
		return nil
	}
	o.srv.hub.forgetKnown(f.runs)
	o.events, o.first, f.runs = f.events, o.since, nil
	return nil
}

// ready sees to it that whoever begins to follow runs misses nothing from then on: it is known from where
// on there is more of each; and when somebody follows their ends, these are as they are now.
func (o *others) ready(ctx context.Context, ends bool) error {
	if !ends && (!o.shared || o.begun.Load()) {
		return nil
	}
	return o.runs(ctx)
}

// begin notes how far all runs are, so that of each is known what is new.
func (o *others) begin(ctx context.Context) error {
	var err error
	if o.events, _, err = o.srv.store.LastEvent(ctx); err != nil {
		return err
	}
	all, next, err := o.srv.store.Unended(ctx)
	if err != nil {
		return err
	}
	h := o.srv.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range all {
		if h.known[c.Run].prefix < c.Prefix {
			h.known[c.Run] = known{c.Prefix, c.Exited}
		}
	}
	o.since, o.first = next, next
	o.begun.Store(true)
	return nil
}

// more tells who follows a run that there is more of it.
func (o *others) more(ctx context.Context, c store.Change) error {
	before, ok := o.srv.hub.knows(c.Run)
	switch {
	case ok && before >= c.Prefix:
		o.srv.hub.exited(c)
		return nil
	case ok || c.Made >= o.first: // else it is from before
	default: // it had ended when this server began, or was forgotten, and something came after all
		var err error
		if before, err = o.srv.store.PrefixAt(ctx, c.Run, o.events, c.Prefix); err != nil {
			return err
		}
	}
	for _, f := range o.srv.hub.publish(c.Run, before, c.Prefix, nil) {
		f.kick()
	}
	o.srv.hub.exited(c)
	return nil
}

// hosts sends what waits for hosts that are here.
func (o *others) hosts(ctx context.Context) error {
	all, err := o.srv.store.Busy(ctx, o.id)
	for _, id := range append(all, o.srv.hosts.owed()...) {
		if h := o.srv.hosts.get(id); h != nil && h.isReady() {
			h.deliver()
			o.srv.calls.again(o.srv, h)
		}
	}
	return err
}

// commands tells what has become of commands that were given here.
func (o *others) commands(ctx context.Context) error {
	keys := o.srv.commands.open()
	if len(keys) == 0 {
		return nil
	}
	all, err := o.srv.store.CommandsOf(ctx, keys)
	for _, c := range all {
		o.srv.commands.learn(c)
	}
	return err
}

// calls tells what was answered to calls that were asked here.
func (o *others) calls(ctx context.Context) error {
	ids := o.srv.calls.waits()
	if len(ids) == 0 {
		return nil
	}
	all, err := o.srv.store.Calls(ctx, ids)
	for _, c := range all {
		o.srv.learn(c)
	}
	return err
}

// mail reads what other servers have left for this one.
func (o *others) mail(ctx context.Context) error {
	all, err := o.srv.store.Fetch(ctx, o.id)
	for _, m := range all {
		switch m.Kind {
		case store.SealedMail:
			o.open(m.Body)
		case store.HostMail:
			o.lost(ctx, m.Body)
		}
	}
	return err
}

// lost closes the connection of a host that another server has now, or that was removed.
func (o *others) lost(ctx context.Context, id string) {
	h := o.srv.hosts.get(id)
	if h == nil {
		return
	}
	row, err := o.srv.store.Host(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnknown):
		h.socket.close(protocol.CloseUnauthorized, "the host was removed")
	case err != nil:
		o.srv.failed(err, protocol.Internal)
	case row.Gen != h.life.generation():
		h.socket.close(protocol.CloseSuperseded, "a newer connection of this host has taken over")
	}
}
