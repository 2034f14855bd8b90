package relay

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	chunkSize = 64 << 10
	maxText   = 32 << 10 // bytes of one run.output
)

// chunk is lines of events that stand behind each other.
type chunk struct {
	text  []byte
	lines int64
}

// queue is the events of a run that hostd does not have for sure. What is beyond
// protocol.SourceKept is lost, and counted: a gap stands in its place.
type queue struct {
	waiting []chunk // to be written
	written []chunk // and not yet counted by hostd; none when it does not count
	size    int     // bytes of both
	taken   int64   // events before those, which hostd has counted
	lost    int64   // events since the last that is kept

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

// put adds a line of about size bytes. fresh says that nothing waited before.
func (q *queue) put(size int, write func([]byte) []byte) (fresh bool) {
	q.flush()
	return q.line(size, false, write)
}

// add adds a line.
func (q *queue) add(line []byte) (fresh bool) {
	return q.put(len(line), func(b []byte) []byte { return append(b, line...) })
}

// must adds a line for which there is always room.
func (q *queue) must(line []byte) {
	q.flush()
	q.line(len(line), true, func(b []byte) []byte { return append(b, line...) })
}

func (q *queue) line(size int, always bool, write func([]byte) []byte) (fresh bool) {
	if !always && q.size+size > protocol.SourceKept {
		q.lost++
		return false
	}
	fresh = len(q.waiting) == 0
	if q.lost > 0 {
		q.gap()
	}
	q.chunk(size, 1, write)
	return fresh
}

// gap tells of what is lost.
func (q *queue) gap() {
	lost := q.lost
	q.lost = 0
	q.chunk(64, lost, func(b []byte) []byte {
		b = append(b, `{"event":"run.gap","data":{"reason":"source_lag"},"lost":`...)
		return append(strconv.AppendInt(b, lost, 10), '}', '\n')
	})
}

// chunk writes a line that counts for so many events.
func (q *queue) chunk(size int, events int64, write func([]byte) []byte) {
	n := len(q.waiting)
	if n == 0 || len(q.waiting[n-1].text)+size > chunkSize {
		q.waiting = append(q.waiting, chunk{text: make([]byte, 0, max(chunkSize, size+64))})
		n++
	}
	c := &q.waiting[n-1]
	before := len(c.text)
	c.text = write(c.text)
	c.lines += events
	q.size += len(c.text) - before
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
	rest := len(q.prints.b) - torn(q.prints.b)
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
			piece = piece[:maxText]
			piece = piece[:maxText-torn(piece)]
		}
		text = text[len(piece):]
		shown := strings.ToValidUTF8(string(piece), "\ufffd")
		q.line(len(shown)+96, false, func(b []byte) []byte {
			b = append(append(append(b, `{"event":"run.output","data":{"stream":"`...), stream...), `","text":`...)
			return append(value.AppendString(b, shown), '}', '}', '\n')
		})
	}
}

// torn is how many bytes at the end begin a character without ending it.
func torn(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// whole is a text without a character that has only begun at its end.
func whole(text json.RawMessage) string {
	return strings.ToValidUTF8(string(text[:len(text)-torn(text)]), "\ufffd")
}

// take gives what waits, to be written.
func (q *queue) take() []chunk {
	q.flush()
	if q.lost > 0 && q.size < protocol.SourceKept/2 {
		q.gap()
	}
	out := q.waiting
	q.waiting = nil
	return out
}

// wrote notes that chunks were written to a hostd that counts, or does not.
func (q *queue) wrote(all []chunk, counts bool) {
	for _, c := range all {
		if counts {
			q.written = append(q.written, c)
			continue
		}
		q.size -= len(c.text)
		q.taken += c.lines
	}
}

// counted drops what hostd has committed: the first n events of the run.
func (q *queue) counted(n int64) {
	for len(q.written) > 0 && q.taken+q.written[0].lines <= n {
		q.taken += q.written[0].lines
		q.size -= len(q.written[0].text)
		q.written = q.written[1:]
	}
}

// again has all that is not counted written once more, behind the first n events.
func (q *queue) again(n int64) {
	q.counted(n)
	q.waiting = append(q.written, q.waiting...)
	q.written = nil
	for len(q.waiting) > 0 && q.taken < n {
		c := &q.waiting[0]
		if q.taken+c.lines <= n {
			q.taken += c.lines
			q.size -= len(c.text)
			q.waiting = q.waiting[1:]
			continue
		}
		cut, lines := c.skip(n - q.taken)
		q.taken += lines
		q.size -= cut
		return
	}
}

// skip cuts the lines of the first n events off, as far as they are whole lines.
func (c *chunk) skip(n int64) (cut int, lines int64) {
	for lines < n {
		end := cut
		for c.text[end] != '\n' {
			end++
		}
		weight := int64(1)
		var gap protocol.SourceSays
		if json.Unmarshal(c.text[cut:end], &gap) == nil && gap.Lost > 0 {
			weight = gap.Lost
		}
		if lines+weight > n {
			break
		}
		cut, lines = end+1, lines+weight
	}
	c.text, c.lines = c.text[cut:], c.lines-lines
	return cut, lines
}
