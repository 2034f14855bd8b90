package client

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const maxText = 32 << 10 // maximum bytes of text in one run.output event

// queue contains the events that hostd has not acknowledged. If they exceed protocol.SourceRetained
// bytes, further events are dropped, and a gap event replaces them.
type queue struct {
	waiting []*chunk // chunks to write
	last    *chunk   // last chunk in waiting; nil if no items can be added to it
	written []*chunk // chunks that were written but not acknowledged; empty if hostd does not acknowledge events
	size    int      // approximate size of waiting and written, in bytes
	acked   int64    // number of events that were acknowledged, or written to a hostd without acknowledgements
	lost    int64    // number of events dropped since the last one in the queue

	emits  *about // description of the previous emit, for reuse
	prints prints
}

// prints contains printed text that has not become an event yet.
type prints struct {
	stream  string
	b       []byte
	partial map[string][]byte // incomplete characters at the end of the other streams' texts
}

// switchTo makes stream the current stream. It stores the incomplete character of the previous one.
func (p *prints) switchTo(stream string) {
	if p.partial == nil {
		p.partial = map[string][]byte{}
	}
	p.partial[p.stream] = append([]byte(nil), p.b...)
	p.stream, p.b = stream, append(p.b[:0], p.partial[stream]...)
}

// put adds an event. fresh is true if the queue was empty, so that the writer must be notified.
func (q *queue) put(x item) (fresh bool) {
	if len(q.prints.b) > 0 {
		q.flush()
	}
	return q.append(x)
}

// emit adds an emit that is not awaited. It is optimised because programs may emit very often.
func (q *queue) emit(channel string, payload []byte) (fresh bool) {
	if q.emits == nil || q.emits.name != channel {
		q.emits = &about{kind: isEmit, name: channel}
	}
	x := item{payload, q.emits}
	if c := q.last; c != nil && q.lost == 0 && len(q.prints.b) == 0 && len(c.items) < cap(c.items) {
		if size := x.size(); c.size+size <= chunkSize && q.size+size <= protocol.SourceRetained {
			c.items = append(c.items, x)
			c.events++
			c.size += size
			q.size += size
			return false
		}
	}
	return q.put(x)
}

// add adds an encoded event.
func (q *queue) add(line []byte) (fresh bool) { return q.put(item{line, lineItem}) }

// addAlways adds an encoded event even if the queue is full.
func (q *queue) addAlways(line []byte) {
	q.flush()
	q.gap()
	q.retain(item{line, lineItem})
}

func (q *queue) append(x item) (fresh bool) {
	if q.size+x.size() > protocol.SourceRetained {
		q.lost++
		return false
	}
	fresh = len(q.waiting) == 0
	q.gap()
	q.retain(x)
	return fresh
}

// gap adds a gap event if events were dropped.
func (q *queue) gap() {
	if q.lost > 0 {
		q.retain(item{of: &about{kind: isGap, lost: q.lost}})
		q.lost = 0
	}
}

func (q *queue) retain(x item) {
	if q.last == nil || q.last.isFull(&x) {
		q.last = &chunk{items: make([]item, 0, chunkItems)}
		q.waiting = append(q.waiting, q.last)
	}
	q.last.add(x)
	q.size += x.size()
}

// print adds printed text. Consecutive texts on one stream are merged to one event.
func (q *queue) print(stream, text string) (fresh bool) {
	p := &q.prints
	if p.stream != stream {
		q.flush()
		p.switchTo(stream)
	} else if len(p.b)+len(text) > maxText {
		q.flush()
	}
	fresh = len(p.b) == 0 && len(q.waiting) == 0
	p.b = append(p.b, text...)
	if len(p.b) >= maxText {
		q.flush()
	}
	return fresh
}

// flush converts the pending text to events. It retains an incomplete character at the end.
func (q *queue) flush() {
	rest := len(q.prints.b) - utf8cut.Unfinished(q.prints.b)
	q.texts(q.prints.stream, q.prints.b[:rest])
	q.prints.b = append(q.prints.b[:0], q.prints.b[rest:]...)
}

// finish converts the pending text of all streams to events, including incomplete characters.
func (q *queue) finish() {
	for _, stream := range [...]string{q.prints.stream, Stdout, Stderr} {
		q.flush()
		q.texts(q.prints.stream, q.prints.b)
		q.prints.b = nil
		q.prints.switchTo(stream)
	}
}

// texts adds text as one or more events.
func (q *queue) texts(stream string, text []byte) {
	for len(text) > 0 {
		piece := text
		if len(piece) > maxText {
			piece = piece[:maxText-utf8cut.Unfinished(piece[:maxText])]
		}
		text = text[len(piece):]
		q.append(item{bytes.Clone(piece), &about{kind: isOutput, name: stream}})
	}
}

// validText returns text as valid UTF-8, without an incomplete character at its end.
func validText(text json.RawMessage) string {
	return strings.ToValidUTF8(string(text[:len(text)-utf8cut.Unfinished(text)]), "\ufffd")
}

// take removes and returns the chunks to write.
func (q *queue) take() []*chunk {
	q.flush()
	if q.size < protocol.SourceRetained/2 {
		q.gap()
	}
	out := q.waiting
	q.waiting, q.last = nil, nil
	return out
}

// setWritten records that chunks were written. If hasAcks is true, hostd acknowledges events, and
// the chunks are retained until it has done so.
func (q *queue) setWritten(all []*chunk, hasAcks bool) {
	for _, c := range all {
		if hasAcks {
			q.written = append(q.written, c)
			continue
		}
		q.drop(c)
	}
}

// drop removes a chunk that hostd has received from the counts.
func (q *queue) drop(c *chunk) {
	q.size -= c.size
	q.acked += c.events
}

// ack removes the events that hostd has committed, which are the first n events of the run.
func (q *queue) ack(n int64) {
	for len(q.written) > 0 && q.acked+q.written[0].events <= n {
		q.drop(q.written[0])
		q.written = q.written[1:]
	}
}

// resend makes all events after the first n events wait to be written again.
func (q *queue) resend(n int64) {
	q.ack(n)
	q.waiting = append(q.written, q.waiting...)
	q.written = nil
	for len(q.waiting) > 0 && q.acked < n {
		c := q.waiting[0]
		if q.acked+c.events <= n {
			q.drop(c)
			if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
				q.last = nil
			}
			continue
		}
		q.drop(c.skip(n - q.acked))
		return
	}
}
