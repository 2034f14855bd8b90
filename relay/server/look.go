package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// pollLoop checks for changes of other servers until this server closes.
func (o *peers) pollLoop() {
	tick := time.NewTicker(protocol.ReplicaPoll)
	defer tick.Stop()
	var all time.Time // time of the last complete check
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
			o.schedule(checkAll)
		}
		o.mu.Lock()
		what := o.todo
		o.todo = 0
		o.mu.Unlock()
		o.check(what)
	}
}

func (o *peers) check(what checkSet) {
	ctx := o.srv.ctx
	for _, one := range []struct {
		what checkSet
		do   func(context.Context) error
	}{{checkMail, o.mail}, {checkRuns, o.runs}, {checkMachines, o.machines}, {checkCommands, o.commands}, {checkCalls, o.calls}} {
		if what&one.what == 0 {
			continue
		}
		if err := one.do(ctx); err != nil && ctx.Err() == nil {
			o.srv.log.Error("could not read the changes of other servers", slog.Any("error", err))
			return
		}
	}
}

// runs finds runs with new events of other servers and notifies their followers.
func (o *peers) runs(ctx context.Context) error {
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
		if err := o.announce(ctx, c); err != nil {
			return err
		}
	}
	o.since = next
	return o.forget(ctx)
}

// maxCachedRuns is the number of ended runs above which the hub forgets ended runs.
const maxCachedRuns = 4096

// forgetting is the state of removing ended runs from the hub.
type forgetting struct {
	most   int              // maximum number of ended runs in the hub
	runs   map[string]int64 // the runs to remove, with their prefixes; nil if no removal is in progress
	events int64            // number of the last event when runs was set
	stamp  int64            // once o.since has reached this transaction number, no older transaction is running
}

// forget makes the hub forget ended runs if the hub holds too many of them. A later event of a
// forgotten run is handled like an event of a run that ended before this server started. This
// requires an event number up to which all events were announced to followers. Therefore forget
// records the current event number first, and removes a run only when all transactions with lower
// numbers have finished and the run has no event after the recorded number.
func (o *peers) forget(ctx context.Context) (err error) {
	f := &o.forgets
	if f.runs == nil {
		runs := o.srv.hub.endedRuns()
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
	o.srv.hub.forgetStates(f.runs)
	o.events, o.first, f.runs = f.events, o.since, nil
	return nil
}

// ready prepares the server for a new follower: it loads the current end of each run, so that the
// follower misses no event. If ends is set, it loads the ends again even if they are loaded
// already.
func (o *peers) ready(ctx context.Context, ends bool) error {
	if !ends && (!o.shared || o.begun.Load()) {
		return nil
	}
	return o.runs(ctx)
}

// begin loads the ends of all runs.
func (o *peers) begin(ctx context.Context) error {
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
		if h.states[c.Run].prefix < c.Prefix {
			h.states[c.Run] = runState{c.Prefix, c.Exited}
		}
	}
	o.since, o.first = next, next
	o.begun.Store(true)
	return nil
}

// announce notifies a run's followers of new events.
func (o *peers) announce(ctx context.Context, c store.Change) error {
	before, ok := o.srv.hub.prefix(c.Run)
	switch {
	case ok && before >= c.Prefix:
		o.srv.hub.setExited(c)
		return nil
	case ok || c.Made >= o.first: // the run was created after this server started
	default: // the run had ended before the start or was forgotten, and has a new event
		var err error
		if before, err = o.srv.store.PrefixAt(ctx, c.Run, o.events, c.Prefix); err != nil {
			return err
		}
	}
	for _, f := range o.srv.hub.publish(c.Run, before, c.Prefix, nil) {
		f.kick()
	}
	o.srv.hub.setExited(c)
	return nil
}

// machines sends pending commands and calls to the machines that are connected to this server.
func (o *peers) machines(ctx context.Context) error {
	all, err := o.srv.store.MachinesWithWork(ctx, o.id)
	for _, id := range append(all, o.srv.machines.awaitingPayloads()...) {
		if h := o.srv.machines.get(id); h != nil && h.isReady() {
			h.deliver()
			o.srv.calls.resend(o.srv, h)
		}
	}
	return err
}

// commands notifies apps of the states of the commands that this server accepted.
func (o *peers) commands(ctx context.Context) error {
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

// calls delivers the answers to the calls that this server started.
func (o *peers) calls(ctx context.Context) error {
	ids := o.srv.calls.waiting()
	if len(ids) == 0 {
		return nil
	}
	all, err := o.srv.store.Calls(ctx, ids)
	for _, c := range all {
		o.srv.learn(c)
	}
	return err
}

// mail reads the letters from other servers.
func (o *peers) mail(ctx context.Context) error {
	all, err := o.srv.store.ReceiveMail(ctx, o.id)
	for _, m := range all {
		switch m.Kind {
		case store.SealedMail:
			o.open(m.Body)
		case store.MachineMail:
			o.lost(ctx, m.Body)
		}
	}
	return err
}

// lost closes the connection of a machine that another server has taken over or that was removed.
func (o *peers) lost(ctx context.Context, id string) {
	h := o.srv.machines.get(id)
	if h == nil {
		return
	}
	row, err := o.srv.store.Machine(ctx, id)
	switch {
	case errors.Is(err, store.ErrUnknown):
		h.socket.close(protocol.CloseUnauthorized, "the machine was removed")
	case err != nil:
		o.srv.failed(err, protocol.Internal)
	case row.Gen != h.life.generation():
		h.socket.close(protocol.CloseSuperseded, "a newer connection of this machine has taken over")
	}
}
