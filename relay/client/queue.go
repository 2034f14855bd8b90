package client

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const maxText = 32 << 10 // bytes of one run.output

// queue holds the events that hostd has not acknowledged. Events beyond protocol.SourceRetained are
// dropped and replaced by a gap.
type queue struct {
	waiting []*chunk // to write
	last    *chunk   // the last waiting chunk, if items can be added
	written []*chunk // written but not acknowledged; empty without acknowledgements
	size    int      // approximate bytes of both
	acked   int64    // number of earlier, acknowledged events
	lost    int64    // events dropped since the last one in the queue

	emits  *about // of the previous emit
	prints prints
}

// prints holds text that is not an event yet.
type prints struct {
	stream  string
	b       []byte
	partial map[string][]byte // incomplete characters of the other streams
}

// switchTo makes stream the current one.
func (p *prints) switchTo(stream string) {
	if p.partial == nil {
		p.partial = map[string][]byte{}
	}
	p.partial[p.stream] = append([]byte(nil), p.b...)
	p.stream, p.b = stream, append(p.b[:0], p.partial[stream]...)
}

// put adds an event. fresh reports whether the queue was empty.
func (q *queue) put(x item) (fresh bool) {
	if len(q.prints.b) > 0 {
		q.flush()
	}
	return q.append(x)
}

// emit adds an emit that is not awaited. It is optimised, because programs may emit very often.
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

// gap adds a gap if events were dropped.
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

// print adds text, which is merged with later text on the same stream.
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

// flush converts the pending text to events, except for an incomplete character.
func (q *queue) flush() {
	rest := len(q.prints.b) - utf8cut.Unfinished(q.prints.b)
	q.texts(q.prints.stream, q.prints.b[:rest])
	q.prints.b = append(q.prints.b[:0], q.prints.b[rest:]...)
}

// finish flushes all text at the end.
func (q *queue) finish() {
	for _, stream := range [...]string{q.prints.stream, Stdout, Stderr} {
		q.flush()
		q.texts(q.prints.stream, q.prints.b)
		q.prints.b = nil
		q.prints.switchTo(stream)
	}
}

// texts adds text as events.
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

// validText returns a text without an incomplete character at its end.
func validText(text json.RawMessage) string {
	return strings.ToValidUTF8(string(text[:len(text)-utf8cut.Unfinished(text)]), "\ufffd")
}

// take returns what waits to be written.
func (q *queue) take() []*chunk {
	q.flush()
	if q.size < protocol.SourceRetained/2 {
		q.gap()
	}
	out := q.waiting
	q.waiting, q.last = nil, nil
	return out
}

// setWritten records that chunks were written. With acks set, they are retained until acknowledged.
func (q *queue) setWritten(all []*chunk, counts bool) {
	for _, c := range all {
		if counts {
			q.written = append(q.written, c)
			continue
		}
		q.drop(c)
	}
}

// drop drops a chunk that hostd has.
func (q *queue) drop(c *chunk) {
	q.size -= c.size
	q.acked += c.events
}

// ack drops what hostd has committed: the first n events of the run.
func (q *queue) ack(n int64) {
	for len(q.written) > 0 && q.acked+q.written[0].events <= n {
		q.drop(q.written[0])
		q.written = q.written[1:]
	}
}

// resend makes everything after the first n events wait again.
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
