package enginemachine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// runID returns the relay's id of a run: the id in the engine as far as it is valid, and a hash
// that distinguishes it from the runs of other machines, and from a removed run with the same id.
func (s *Source) runID(m postgres.Mark) string {
	const most = 50
	id := strings.ReplaceAll(m.ID, ".", "_")
	sum := hexsum.SHA256([]byte(fmt.Sprintf("%s %s %d", s.o.ID, m.ID, m.Created.UnixMicro())))
	return id[:min(len(id), most)] + "-" + sum[:10]
}

// newInstance returns a random UUID (version 4).
func newInstance() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// commit commits the events of a run since the last call.
func (s *Source) commit(ctx context.Context, r *run, mark postgres.Mark, row *postgres.Row, lines []postgres.OutputLine) error {
	c := spool.Change{Run: r.id}
	if !r.started {
		c.Events = append(c.Events, spool.Event{Type: protocol.RunStarted, TS: row.Created,
			Data: protocol.Started{Tool: "concerto", Command: row.Program, Title: row.Program + " " + row.ID, Source: "concerto"}})
	}
	output := r.output
	for _, l := range lines {
		c.Events, output = append(c.Events, outputEvents(l.Line)...), l.N
	}
	labels := labelsOf(row)
	text, err := labelsText(labels)
	if err != nil {
		return err
	}
	if text != r.labels {
		c.Events = append(c.Events, spool.Event{Type: protocol.RunMeta, Data: protocol.Meta{Labels: labels}})
		stored, err := json.Marshal(note{row.ID, labels})
		if err != nil {
			return err
		}
		c.Notes = append(c.Notes, spool.Note{Kind: noteKind, Key: noteKey, Data: stored})
	}
	if len(c.Events) > 0 {
		c.Offset = &output
		if _, err := s.spool.Commit(ctx, c); err != nil {
			return err
		}
	}
	r.started, r.output, r.labels, r.Labels = true, output, text, labels
	s.mu.Lock()
	s.runs[r.id] = r
	s.mu.Unlock()
	complete, err := s.updateRequests(ctx, r, row)
	if err != nil {
		return err
	}
	if complete = complete && r.output >= mark.Output; !complete {
		r.mark = postgres.Mark{}
		return nil
	}
	r.mark = mark
	if postgres.HasEnded(mark.State) {
		return s.end(ctx, r, row)
	}
	return nil
}

// end commits the end of a run.
func (s *Source) end(ctx context.Context, r *run, row *postgres.Row) error {
	e := protocol.Exited{ExitCode: -1, Reason: protocol.ExitedItself}
	if row.Exit != nil {
		e.ExitCode = int64(*row.Exit)
	}
	if row.Stopping {
		e.Reason = protocol.ExitedStopped
	}
	at := time.Time{}
	if row.Ended != nil {
		at = *row.Ended
	}
	return s.commitEnd(ctx, r, spool.Event{Type: protocol.RunExited, Data: e, TS: at})
}

// endRemoved commits the end of a run that was removed from the engine.
func (s *Source) endRemoved(ctx context.Context, r *run) error {
	return s.commitEnd(ctx, r,
		spool.Event{Type: protocol.RunMeta, Data: protocol.Meta{Labels: map[string]string{"run": r.Run, "state": "removed"}}},
		spool.Event{Type: protocol.RunExited, Data: protocol.Exited{ExitCode: -1, Reason: protocol.ExitedLost}})
}

func (s *Source) commitEnd(ctx context.Context, r *run, events ...spool.Event) error {
	if err := s.requests.CloseRun(ctx, r.id); err != nil {
		return err
	}
	if _, err := s.spool.Commit(ctx, spool.Change{Run: r.id, Events: events, Notes: []spool.Note{{Kind: noteKind, Key: noteKey}}}); err != nil {
		return err
	}
	s.requests.Forget(r.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r.id)
	return nil
}

// labelsOf returns what the engine stores about a run, for people.
func labelsOf(row *postgres.Row) map[string]string {
	labels := map[string]string{"run": row.ID, "state": row.State, "queue": row.Queue}
	for name, value := range map[string]*string{"why": &row.Why, "key": &row.Key, "machine": row.Machine, "schedule": row.Schedule} {
		if value != nil && *value != "" {
			labels[name] = *value
		}
	}
	return labels
}

func labelsText(labels map[string]string) (string, error) {
	text, err := json.Marshal(labels) // sorts the keys
	return string(text), err
}

const (
	printChannel = "print"  // channel of the lines of output that contain printed text
	maxText      = 16 << 10 // maximum size of the text in an event
)

// outputEvents returns the events for a line of output. A line that is damaged is shown as text.
func outputEvents(text string) (all []spool.Event) {
	var line struct {
		Channel string          `json:"channel"`
		Payload json.RawMessage `json:"payload"`
	}
	printed := text
	if json.Unmarshal([]byte(text), &line) == nil && (line.Channel != printChannel || json.Unmarshal(line.Payload, &printed) != nil) {
		return []spool.Event{{Type: protocol.RunEmit, Data: protocol.Emit{Channel: line.Channel, Payload: client.Shorten(line.Payload)}}}
	}
	for printed += "\n"; printed != ""; {
		n := utf8cut.Before(printed, min(len(printed), maxText))
		all = append(all, spool.Event{Type: protocol.RunOutput, Data: protocol.Output{Stream: client.Stdout, Text: printed[:n]}})
		printed = printed[n:]
	}
	return all
}
