package serve

import (
	"encoding/json"
	"slices"
	"time"
)

// Limits on the stored events of a session.
const (
	maxStoredEvents     = 10_000
	maxStoredEventBytes = 16 << 20
)

// eventLog stores the last events of a session. Events are numbered from 1.
type eventLog struct {
	first  int64 // number of the event stored[0]
	stored []json.RawMessage
	bytes  int
}

func (l *eventLog) last() int64 { return l.first + int64(len(l.stored)) - 1 }

func (l *eventLog) add(event json.RawMessage) {
	l.stored = append(l.stored, event)
	l.bytes += len(event)
	n := 0
	for len(l.stored)-n > 1 && (len(l.stored)-n > maxStoredEvents || l.bytes > maxStoredEventBytes) {
		l.bytes -= len(l.stored[n])
		l.stored[n] = nil
		n++
	}
	l.first += int64(n)
	if l.stored = l.stored[n:]; cap(l.stored) > 4*maxStoredEvents {
		l.stored = slices.Clone(l.stored)
	}
}

// after returns the stored events that follow event number, at most limit of them. last is the
// number of the last returned event. If some of the following events are no longer stored, from and
// to are the first and the last number of the missing events, and the returned events begin after
// to.
func (l *eventLog) after(number int64, limit int) (from, to int64, events []json.RawMessage, last int64) {
	if number = max(0, number); number >= l.last() {
		return 0, 0, nil, number
	}
	if number < l.first-1 {
		from, to = number+1, l.first-1
		number = to
	}
	i := int(number + 1 - l.first)
	events = l.stored[i:min(len(l.stored), i+limit)]
	return from, to, events, number + int64(len(events))
}

// timeForm is the format of the times in events.
const timeForm = "2006-01-02T15:04:05.000Z"

// eventHead contains the members with which every event begins.
type eventHead struct {
	SessionID string `json:"session_id,omitempty"`
	Seq       int64  `json:"seq,omitempty"`
	TS        string `json:"ts"`
	Type      string `json:"type"`
}

// event encodes an event. body is a struct with the members that follow eventHead.
func event(session string, seq int64, kind string, body any) json.RawMessage {
	head := encode(eventHead{session, seq, time.Now().UTC().Format(timeForm), kind})
	rest := encode(body)
	if len(rest) == 2 {
		return head
	}
	head[len(head)-1] = ','
	return append(head, rest[1:]...)
}

// The bodies of events.
type (
	stateBody struct {
		State  string          `json:"state"`
		Result json.RawMessage `json:"result,omitempty"`
		Error  *runError       `json:"error,omitempty"`
		Usage  *usage          `json:"usage,omitempty"`
	}
	emitBody struct {
		Channel string          `json:"channel"`
		Payload json.RawMessage `json:"payload"`
		Awaited bool            `json:"awaited,omitempty"`
	}
	printBody struct {
		Text string `json:"text"`
	}
	logBody struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	}
	toolBody struct {
		Phase      string `json:"phase"`
		CallID     string `json:"call_id"`
		Tool       string `json:"tool"`
		By         string `json:"by"`
		Route      string `json:"route"`
		Outcome    string `json:"outcome,omitempty"`
		DurationMS *int64 `json:"duration_ms,omitempty"`
	}
	gapBody struct {
		From int64 `json:"from"`
		To   int64 `json:"to"`
	}
)

// gap returns the event that represents events that are no longer stored.
func gap(session string, from, to int64) json.RawMessage {
	return event(session, to, "gap", gapBody{from, to})
}
