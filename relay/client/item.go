package client

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
)

// item is an event of a run. The writing goroutine encodes it when it is written, so that reporting
// does not slow the run down.
type item struct {
	text []byte // payload of an emit, text, or encoded event; never modified
	of   *about
}

// about describes an item. Consecutive emits on one channel share an about.
type about struct {
	kind itemKind
	name string // channel of an emit, or stream of a text
	id   string // request id of an awaited emit
	lost int64  // number of missing events, for a gap
}

type itemKind uint8

const (
	isEmit itemKind = iota
	isAwaited
	isOutput
	isLine
	isGap
)

var lineItem = &about{kind: isLine}

// size returns the approximate length of the item's line in bytes.
func (x *item) size() int { return len(x.of.name) + len(x.text) + 96 }

// events returns the number of the run's events that the item represents.
func (x *item) events() int64 {
	if x.of.kind == isGap {
		return x.of.lost
	}
	return 1
}

// chunk is a sequence of items that are written together.
type chunk struct {
	items  []item
	events int64
	size   int
}

const (
	chunkItems = 512
	chunkSize  = 64 << 10
)

// isFull reports whether the chunk has no room for the item x.
func (c *chunk) isFull(x *item) bool {
	return len(c.items) == cap(c.items) || c.size+x.size() > chunkSize
}

func (c *chunk) add(x item) {
	c.items = append(c.items, x)
	c.events += x.events()
	c.size += x.size()
}

// skip removes the items that represent the first n events. It returns the removed items as a
// chunk.
func (c *chunk) skip(n int64) *chunk {
	cut := &chunk{}
	for len(c.items) > 0 && cut.events+c.items[0].events() <= n {
		cut.events += c.items[0].events()
		cut.size += c.items[0].size()
		c.items = c.items[1:]
	}
	c.events -= cut.events
	c.size -= cut.size
	return cut
}

// encoder encodes items as lines of JSON.
type encoder struct {
	b       []byte
	channel string // channel of the previous emit
	begin   []byte // beginning of a line about an emit on that channel
}

// encode returns the lines of a chunk. They are valid until the next call.
func (w *encoder) encode(c *chunk) []byte {
	w.b = w.b[:0]
	for i := range c.items {
		x := &c.items[i]
		switch x.of.kind {
		case isEmit:
			w.appendEmit(x)
			if text := eventText(x.of.name, x.text); text != "" {
				w.b = value.AppendString(append(w.b, `,"text":`...), text)
			}
			w.b = append(w.b, ",\"awaited\":false}}\n"...)
		case isAwaited:
			w.appendEmit(x)
			w.b = append(append(append(w.b, `,"awaited":true,"request_id":"`...), x.of.id...), "\"}}\n"...)
		case isOutput:
			w.b = append(append(append(w.b, `{"event":"run.output","data":{"stream":"`...), x.of.name...), `","text":`...)
			w.b = append(value.AppendString(w.b, strings.ToValidUTF8(string(x.text), "\ufffd")), '}', '}', '\n')
		case isGap:
			w.b = append(w.b, `{"event":"run.gap","data":{"reason":"source_lag"},"lost":`...)
			w.b = append(strconv.AppendInt(w.b, x.of.lost, 10), '}', '\n')
		case isLine:
			w.b = append(w.b, x.text...)
		}
	}
	return w.b
}

// eventText returns what an event of the runtime reports, or "" for another emit.
func eventText(channel string, payload []byte) string {
	e, ok := eventtext.Read(channel, payload)
	if !ok {
		return ""
	}
	return firstChars(cmp.Or(e.Text, e.Line), maxPrompt)
}

// appendEmit appends the line of an emit up to the member awaited.
func (w *encoder) appendEmit(x *item) {
	if w.begin == nil || w.channel != x.of.name {
		w.begin = append(value.AppendString(append(w.begin[:0], `{"event":"run.emit","data":{"channel":`...), x.of.name), `,"payload":`...)
		w.channel = x.of.name
	}
	w.b = append(append(w.b, w.begin...), x.text...)
}
