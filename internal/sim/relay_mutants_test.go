package sim

import "testing"

// relayMutants are faults that the world of a relay finds.
var relayMutants = []mutant{
	{"a timeout counts as yes", "relay/hostd/approvals/end.go", "err := d.closeAttempted(ctx, t, run, e, how, why)", "err := d.resolve(ctx, t, run, e, Decision{Decision: Approve}, nil, why)"},
	{"a decision is not stored before it is applied", "relay/hostd/ingest/run.go", "Persistent: true, StoreAttempt: true,", "Persistent: true,"},
	{"a message to a host is not stored before it is sent", "relay/hostd/ingest/steer.go", `if err := r.recordTried(in.InputID, json.RawMessage("true")); err != nil {`, "if err := error(nil); err != nil {"},
	{"the outcome of a closed request is not sent to a program that asks another time", "relay/hostd/ingest/run.go", "	case isClosed:\n", "	case isClosed && false:\n"},
	{"open requests are withdrawn by a restart of hostd", "relay/hostd/approvals/end.go", "if !k.Resumed {", "if true {"},
	{"events are acknowledged to the program before they are stored", "relay/hostd/ingest/run.go", "received := l.committed + l.events\n", "received := l.committed + l.events\n	_ = l.send(protocol.HostdMessage{Committed: received})\n"},
	{"a program does not send events again", "relay/client/link.go", "		s.queue.resend(l.acked)\n", "		s.queue.ack(l.acked)\n"},
	{"events are deleted one too early", "relay/hostd/spool/read.go", "	r.acked = last\n	s.acks[id] = last\n", "	r.acked = min(last+1, r.last)\n	s.acks[id] = r.acked\n"},
	{"results of commands are not stored", "relay/hostd/link/command.go", "if err := l.o.Spool.Report(context.WithoutCancel(ctx), result); err != nil {", "if err := error(nil); err != nil {\n		_ = result"},
	{"the server acknowledges events before they are stored", "relay/server/machine.go", "	h.srv.writer.Write(h.srv.ctx, in, func(w store.Written) { h.handleWritten(e, w) })", "	h.acks.stored(h, e.RunID, e.Seq)\n	h.srv.writer.Write(h.srv.ctx, in, func(w store.Written) { h.handleWritten(e, w) })"},
	{"a second decision replaces the first", "relay/store/command.go", "	if q.State != protocol.RequestOpen {\n", "	if q.State != protocol.RequestOpen && q.State != protocol.RequestDecided {\n"},
	{"a command is not sent again on the next connection", "relay/server/deliver.go", "	case h.socket.speaks2():\n		h.command(c, p)\n", "	case h.socket.speaks2():\n"},
	{"a phone continues one event too late", "relay/server/subscribe.go", "		f.setPosition(id, seq) // required", "		f.setPosition(id, seq+1) // required"},
	{"a request is announced by push before it is stored that it is", "relay/server/push/tell.go", "if fresh, err := p.c.Store.ClaimNotice(ctx, run.ID, q.ID); err != nil || !fresh {", "if fresh, err := p.c.Store.ClaimNotice(ctx, run.ID, q.ID); err != nil || fresh {"},
	{"the subscriptions are read before the requests", "relay/server/push/tell.go", "	open, err := p.c.Store.Requests(ctx, run.ID)\n	if err != nil || len(open) == 0 && len(noted) == 0 {\n		return err\n	}\n	// The subscriptions are read after the requests. Otherwise a browser that subscribes in between\n	// would miss a request that is added after it.\n	subs, err := p.c.Store.Subscriptions(ctx)\n", "	subs, err := p.c.Store.Subscriptions(ctx)\n	if err != nil {\n		return err\n	}\n	open, err := p.c.Store.Requests(ctx, run.ID)\n"},
	{"the database of the server is not synced", "relay/store/sqlite/sqlite.go", `"synchronous(full)"`, `"synchronous(off)"`},
	{"the spool is not synced", "relay/hostd/spool/schema.go", `"synchronous(full)"`, `"synchronous(off)"`},
}

// TestRelayMutants is like TestMutants for the world of a relay.
func TestRelayMutants(t *testing.T) {
	plant(t, relayMutants, "^Test(ReplayRelay|Relay)$", "6000")
}
