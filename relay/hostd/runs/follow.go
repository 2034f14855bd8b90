package runs

import (
	"context"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// Follow calls handle for the output of a run from an offset on, and for its other events at their
// positions in the output, until the run ends. The envelopes contain no sequence numbers. A
// negative offset is counted from the end of the output. Events other than output are included only
// if this process has committed them.
func (m *Manager) Follow(ctx context.Context, id string, off int64, handle func(protocol.Envelope) error) error {
	r, err := m.find(id)
	if err != nil {
		return err
	}
	f := follower{r: r, off: off}
	r.mu.Lock()
	if off < 0 {
		f.off = max(r.off+off, 0)
	}
	r.followers++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.followers--
		r.mu.Unlock()
	}()
	for {
		e, news, err := f.next()
		switch {
		case err != nil:
			return err
		case e != nil:
			if err := handle(*e); err != nil {
				return err
			}
		case news == nil:
			return nil
		default:
			select {
			case <-news:
			case <-m.ctx.Done():
				return context.Cause(m.ctx)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

type follower struct {
	r          *run
	off        int64
	eventIndex int
	b          [32 << 10]byte
}

// next returns the next envelope. If there is none yet, it returns a channel that is closed when
// there is. At the end of the run it returns neither.
func (f *follower) next() (*protocol.Envelope, <-chan struct{}, error) {
	r := f.r
	r.mu.Lock()
	until, news, over := r.off, r.changed, r.endCommitted
	var event *placedEvent // points into an array that is never overwritten
	f.eventIndex = max(f.eventIndex, r.dropped)
	if f.eventIndex < r.dropped+len(r.placed) {
		event = &r.placed[f.eventIndex-r.dropped]
		until = min(until, max(event.at, f.off))
	}
	r.mu.Unlock()
	if f.off < until {
		b := f.b[:min(int64(len(f.b)), until-f.off)]
		n, at, err := ptyholder.ReadLog(r.dir, f.off, b)
		if n > 0 {
			text, used := decodeText(b[:n], at+int64(n) >= until)
			out := protocol.New(protocol.RunOutput, time.Now(), protocol.Output{Stream: "stdout", Text: text, Off: &at})
			out.RunID = r.id
			f.off = at + int64(used)
			return &out, nil, nil
		}
		return nil, nil, err
	}
	if event != nil {
		f.eventIndex++
		e := event.Envelope
		return &e, nil, nil
	}
	if over {
		return nil, nil, nil
	}
	return nil, news, nil
}

// Events commits events to the spool and passes them to the followers of their runs. It stores the
// rows of requests as notes.
type Events struct {
	Spool *spool.Spool
	Runs  *Manager // may be set after the Events is created
	// ShowOther receives the events of runs that Runs does not manage. It may be set later.
	ShowOther func(run string, events []spool.Event)
}

// CommitChange commits a change of any run.
func (d *Events) CommitChange(ctx context.Context, c spool.Change) error {
	if d.Runs != nil {
		if r, err := d.Runs.find(c.Run); err == nil {
			return r.commit(ctx, c)
		}
	}
	_, err := d.Spool.Commit(ctx, c)
	if err == nil && d.ShowOther != nil {
		d.ShowOther(c.Run, c.Events)
	}
	return err
}

// requestKind is the kind of the notes that store requests.
const requestKind = "request"

// Commit commits events and rows of requests. It implements approvals.Events.
func (d *Events) Commit(ctx context.Context, id string, events []approvals.Event, rows []approvals.Row) error {
	c := spool.Change{Run: id}
	for _, e := range events {
		c.Events = append(c.Events, spool.Event{Type: e.Type, Data: e.Data})
	}
	for _, row := range rows {
		c.Notes = append(c.Notes, spool.Note{Kind: requestKind, Key: row.ID, Data: row.Data})
	}
	return d.CommitChange(ctx, c)
}

// Rows returns the stored requests of all runs that have not ended.
func (d *Events) Rows(ctx context.Context) ([]approvals.Row, error) {
	var all []approvals.Row
	for _, r := range d.Spool.Runs() {
		if r.Ended {
			continue
		}
		notes, err := d.Spool.Notes(ctx, r.ID, requestKind)
		if err != nil {
			return nil, err
		}
		for id, text := range notes {
			all = append(all, approvals.Row{Run: r.ID, ID: id, Data: text})
		}
	}
	return all, nil
}
