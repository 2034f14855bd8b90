package client

import (
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// item is an event of a run. It is encoded only when it is written, by the writing goroutine, so
// that reporting does not slow the run down.
type item struct {
	text []byte // an emit's payload, a text, or an encoded event; immutable
	of   *about
}

// about describes an item. Consecutive emits share one.
type about struct {
	kind itemKind
	name string // an emit's channel or a text's stream
	id   string // of an awaited emit's request
	lost int64  // number of missing events
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

// size returns the approximate length of the item's line.
func (x *item) size() int { return len(x.of.name) + len(x.text) + 96 }

// events returns how many events of the run the item represents.
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

// isFull reports whether there is no room for another item.
func (c *chunk) isFull(x *item) bool {
	return len(c.items) == cap(c.items) || c.size+x.size() > chunkSize
}

func (c *chunk) add(x item) {
	c.items = append(c.items, x)
	c.events += x.events()
	c.size += x.size()
}

// skip removes the items of the first n events and returns them.
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

// encoder encodes items as lines.
type encoder struct {
	b       []byte
	channel string // of the previous emit
	begin   []byte // beginning of the line of an emit on that channel
}

// encode returns the lines of a chunk, which are valid until the next call.
func (w *encoder) encode(c *chunk) []byte {
	w.b = w.b[:0]
	for i := range c.items {
		x := &c.items[i]
		switch x.of.kind {
		case isEmit:
			w.appendEmit(x)
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

// appendEmit appends the line of an emit up to the awaited member.
func (w *encoder) appendEmit(x *item) {
	if w.begin == nil || w.channel != x.of.name {
		w.begin = append(value.AppendString(append(w.begin[:0], `{"event":"run.emit","data":{"channel":`...), x.of.name), `,"payload":`...)
		w.channel = x.of.name
	}
	w.b = append(append(w.b, w.begin...), x.text...)
}
