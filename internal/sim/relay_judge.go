package sim

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// compare checks that an event follows the previous one that a phone has received, and that all
// phones receive the same. The caller has locked r.mu.
func (r *relay) compare(x *phone, s *shown, e *protocol.Envelope) {
	if e.Seq != s.seq+1 {
		r.fail("J8", "the phone of %s has received event %d of %s after event %d", x.user, e.Seq, s.title, s.seq)
		return
	}
	text := e.Type + " " + string(e.Data)
	stream := r.seen.streams[e.RunID]
	switch {
	case e.Seq == int64(len(stream))+1:
		r.seen.streams[e.RunID] = append(stream, text)
	case e.Seq > int64(len(stream)):
		r.fail("J8", "the phone of %s has received event %d of %s, and no phone event %d", x.user, e.Seq, s.title, len(stream)+1)
	case stream[e.Seq-1] != text:
		r.fail("J8", "event %d of %s is\n%s\nand was\n%s", e.Seq, s.title, text, stream[e.Seq-1])
	}
}

// judge compares what phones, programs and push services have seen.
func (r *relay) judge(ctx context.Context) {
	if err := r.checkStores(ctx); err != nil {
		r.failed("J17", "the stores cannot be read: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.seen.phones {
		for _, run := range slices.Sorted(maps.Keys(x.runs)) {
			s := x.runs[run]
			if !s.ended || len(s.open) > 0 {
				r.fail("J16", "the phone of %s shows that %s has ended: %v, and %d open requests", x.user, s.title, s.ended, len(s.open))
			}
			if s.seq != int64(len(r.seen.streams[run])) {
				r.fail("J16", "the phone of %s shows %d of %d events of %s", x.user, s.seq, len(r.seen.streams[run]), s.title)
			}
		}
	}
	for _, j := range r.seen.jobs {
		r.judgeEvents(j)
	}
	for _, name := range slices.Sorted(maps.Keys(r.seen.asked)) {
		r.judgeQuestion(r.seen.asked[name])
	}
	for _, c := range r.seen.commands {
		r.judgeCommand(c)
	}
	r.judgePushes()
}

// judgeEvents checks that the events of a program arrive once and in order.
func (r *relay) judgeEvents(j *job) {
	for run, stream := range r.seen.streams {
		if r.titleOf(run) != j.title {
			continue
		}
		n, gap, resolved := 0, false, map[string]bool{}
		for _, text := range stream {
			typ, data, _ := strings.Cut(text, " ")
			switch typ {
			case protocol.RunEmit:
				var e struct{ Payload struct{ N int } }
				if err := json.Unmarshal([]byte(data), &e); err != nil || e.Payload.N == 0 {
					continue
				}
				if e.Payload.N <= n || e.Payload.N != n+1 && !gap {
					r.fail("J7", "%s has emitted %d, and the phones have received it after %d", j.title, e.Payload.N, n)
				}
				n, gap = e.Payload.N, false
			case protocol.RunGap: // a hostd that did not know the run
				gap = true
			case protocol.RunPermissionResolved:
				var d protocol.PermissionResolved
				if json.Unmarshal([]byte(data), &d) == nil && resolved[d.RequestID] {
					r.fail("J5", "the request %s of %s is resolved twice", d.RequestID, j.title)
				}
				resolved[d.RequestID] = true
			}
		}
		if !j.p.dead.Load() && j.runID() == run && n != j.emitted {
			r.fail("J7", "%s has emitted %d, and the phones have received %d", j.title, j.emitted, n)
		}
	}
}

// titleOf returns the title of a run.
func (r *relay) titleOf(run string) string {
	for _, x := range r.seen.phones {
		if s := x.runs[run]; s != nil {
			return s.title
		}
	}
	return ""
}

// judgeQuestion checks that the answer of a question is one that its user has given.
func (r *relay) judgeQuestion(q *question) {
	if q.outcome != "answered" {
		if q.outcome != "late" && q.outcome != "dead" {
			r.fail("J16", "the question %s of %s is %s", q.id, q.title, q.outcome)
		}
		return
	}
	isSame := func(c *userCommand) bool {
		return c.title == q.title && c.id == q.id && c.user == q.by && c.value == q.value && !c.at.After(q.until)
	}
	i := slices.IndexFunc(r.seen.commands, isSame)
	if i < 0 {
		r.fail("J10", "%s has received %s from %s to %s, which was not sent", q.title, q.value, q.by, q.id)
		return
	}
	if c := r.seen.commands[i]; c.state == string(protocol.InputRejected) || c.state == string(protocol.InputExpired) {
		r.fail("J5", "%s has received the answer %s to %s, which was reported to %s as %s", q.title, q.value, q.id, c.user, c.state)
	}
}

// judgeCommand checks that the reported state of a command is true.
func (r *relay) judgeCommand(c *userCommand) {
	i := slices.IndexFunc(r.seen.jobs, func(j *job) bool { return j.title == c.title })
	j := r.seen.jobs[i]
	if !c.isFinal() && time.Since(c.at) > settleFor {
		r.fail("J16", "%s %s of %s to %s has the state %q after %s", c.typ, c.id, c.user, c.title, c.state, settleFor)
	}
	if c.typ == protocol.RunSendInput {
		n := j.steered[c.id]
		switch {
		case c.state == string(protocol.InputApplied) && n != 1, c.state != string(protocol.InputApplied) && c.state != string(protocol.InputIndeterminate) && n != 0, n > 1:
			r.fail("J6", "the message %s of %s was received %d times by %s, and is reported as %s", c.id, c.user, n, c.title, c.state)
		}
		return
	}
	q := r.seen.asked[c.title+" "+c.id]
	if c.state == string(protocol.InputApplied) && q != nil && q.outcome == "answered" && (q.value != c.value || q.by != c.user) && !r.hasSame(c, q) {
		r.fail("J5", "the answer %s of %s to %s was reported as applied, and %s has received %s of %s", c.value, c.user, c.id, c.title, q.value, q.by)
	}
}

// hasSame reports whether the user of a command has sent the received answer, too: the state of a
// command that is sent with the same id is that of the first one.
func (r *relay) hasSame(c *userCommand, q *question) bool {
	return slices.ContainsFunc(r.seen.commands, func(o *userCommand) bool {
		return o != c && o.user == c.user && o.title == c.title && o.id == c.id && o.value == q.value
	})
}

// pushedFor is how long a question must be open so that all phones receive a push message about it
// if one does, unless the server was restarted.
const pushedFor = 20 * time.Second

// judgePushes checks that each subscribed phone has received a message about each question that was
// asked after its subscription and open for long.
func (r *relay) judgePushes() {
	received, all := map[*phone]map[string]int{}, map[string]bool{} // by question
	for _, x := range r.seen.phones {
		if x.browser == nil {
			r.fail("J16", "the phone of %s is not subscribed", x.user)
			return
		}
		received[x] = map[string]int{}
		for !x.browser.Empty() {
			if n, _ := x.browser.Next(); n.RequestID != "" && !n.Withdrawn {
				name := r.titleOf(n.RunID) + " " + n.RequestID
				received[x][name]++
				all[name] = true
			}
		}
	}
	for _, x := range r.seen.phones {
		for _, name := range slices.Sorted(maps.Keys(r.seen.asked)) {
			q := r.seen.asked[name]
			open := q.until.Sub(q.at)
			isDue := open >= settleFor || q.isFinal || open >= pushedFor && all[name] && r.seen.servers == 1
			if q.order > x.subscribed && isDue && received[x][name] == 0 {
				r.fail("J16", "the phone of %s has received no push message about %s", x.user, name)
			}
		}
	}
}
