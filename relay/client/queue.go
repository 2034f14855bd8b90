package client

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const maxText = 32 << 10 // bytes of one run.output

// queue is the events of a run that hostd does not have for sure. What is beyond
// protocol.SourceKept is lost, and counted: a gap stands in its place.
type queue struct {
	waiting []*chunk // to be written
	last    *chunk   // of those that wait, to which more may be added; nil when there is none
	written []*chunk // and not yet counted by hostd; none when it does not count
	size    int      // bytes of both, about
	taken   int64    // events before those, which hostd has counted
	lost    int64    // events since the last that is kept

	emits  *about // of the emit before
	prints prints
}

// prints is text that is not an event yet.
type prints struct {
	stream string
	b      []byte
	torn   map[string][]byte // a character that has begun, of the other streams
}

// turn makes a stream the one that b is of.
func (p *prints) turn(stream string) {
	if p.torn == nil {
		p.torn = map[string][]byte{}
	}
	p.torn[p.stream] = append([]byte(nil), p.b...)
	p.stream, p.b = stream, append(p.b[:0], p.torn[stream]...)
}

// put adds an event. fresh says that nothing waited before.
func (q *queue) put(x item) (fresh bool) {
	if len(q.prints.b) > 0 {
		q.flush()
	}
	return q.append(x)
}

// emit is put for an emit that nobody waits for. Of those there may be very many, in a run that must
// not notice: mostly there is nothing to do but to note it.
func (q *queue) emit(channel string, payload []byte) (fresh bool) {
	if q.emits == nil || q.emits.name != channel {
		q.emits = &about{kind: isEmit, name: channel}
	}
	x := item{payload, q.emits}
	if c := q.last; c != nil && q.lost == 0 && len(q.prints.b) == 0 && len(c.items) < cap(c.items) {
		if size := x.size(); c.size+size <= chunkSize && q.size+size <= protocol.SourceKept {
			c.items = append(c.items, x)
			c.events++
			c.size += size
			q.size += size
			return false
		}
	}
	return q.put(x)
}

// add adds the line of an event.
func (q *queue) add(line []byte) (fresh bool) { return q.put(item{line, aLine}) }

// must adds a line for which there is always room.
func (q *queue) must(line []byte) {
	q.flush()
	q.gap()
	q.keep(item{line, aLine})
}

func (q *queue) append(x item) (fresh bool) {
	if q.size+x.size() > protocol.SourceKept {
		q.lost++
		return false
	}
	fresh = len(q.waiting) == 0
	q.gap()
	q.keep(x)
	return fresh
}

// gap tells of what is lost, if anything is.
func (q *queue) gap() {
	if q.lost > 0 {
		q.keep(item{of: &about{kind: isGap, lost: q.lost}})
		q.lost = 0
	}
}

func (q *queue) keep(x item) {
	if q.last == nil || q.last.full(&x) {
		q.last = &chunk{items: make([]item, 0, chunkItems)}
		q.waiting = append(q.waiting, q.last)
	}
	q.last.add(x)
	q.size += x.size()
}

// print adds text, which is told with what follows on the same stream, as far as it is whole
// characters.
func (q *queue) print(stream, text string) (fresh bool) {
	p := &q.prints
	if p.stream != stream {
		q.flush()
		p.turn(stream)
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

// flush makes events of the text that waits. A character that has only begun waits for its rest.
func (q *queue) flush() {
	rest := len(q.prints.b) - utf8cut.Unfinished(q.prints.b)
	q.texts(q.prints.stream, q.prints.b[:rest])
	q.prints.b = append(q.prints.b[:0], q.prints.b[rest:]...)
}

// finish is flush when nothing follows.
func (q *queue) finish() {
	for _, stream := range [...]string{q.prints.stream, Stdout, Stderr} {
		q.flush()
		q.texts(q.prints.stream, q.prints.b)
		q.prints.b = nil
		q.prints.turn(stream)
	}
}

// texts makes events of text.
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

// whole is a text without a character that has only begun at its end.
func whole(text json.RawMessage) string {
	return strings.ToValidUTF8(string(text[:len(text)-utf8cut.Unfinished(text)]), "\ufffd")
}

// take gives what waits, to be written.
func (q *queue) take() []*chunk {
	q.flush()
	if q.size < protocol.SourceKept/2 {
		q.gap()
	}
	out := q.waiting
	q.waiting, q.last = nil, nil
	return out
}

// wrote notes that chunks were written to a hostd that counts, or does not.
func (q *queue) wrote(all []*chunk, counts bool) {
	for _, c := range all {
		if counts {
			q.written = append(q.written, c)
			continue
		}
		q.drop(c)
	}
}

// drop forgets a chunk that hostd has.
func (q *queue) drop(c *chunk) {
	q.size -= c.size
	q.taken += c.events
}

// counted drops what hostd has committed: the first n events of the run.
func (q *queue) counted(n int64) {
	for len(q.written) > 0 && q.taken+q.written[0].events <= n {
		q.drop(q.written[0])
		q.written = q.written[1:]
	}
}

// again has all that is not counted written once more, behind the first n events.
func (q *queue) again(n int64) {
	q.counted(n)
	q.waiting = append(q.written, q.waiting...)
	q.written = nil
	for len(q.waiting) > 0 && q.taken < n {
		c := q.waiting[0]
		if q.taken+c.events <= n {
			q.drop(c)
			if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
				q.last = nil
			}
			continue
		}
		q.drop(c.skip(n - q.taken))
		return
	}
}
