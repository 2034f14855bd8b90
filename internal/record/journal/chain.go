package journal

import (
	"encoding/json"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// BlobSize is the size in bytes above which the result of an effect is stored outside its record.
const BlobSize = 256 << 10

// Chain numbers, dates, encodes and hashes the records that a Writer appends.
type Chain struct {
	at   From
	last int64        // time of the last record in Unix milliseconds
	now  func() int64 // returns Unix milliseconds
}

// NewChain returns the chain after a history. h is nil for a new run. now returns Unix
// milliseconds; nil means the system clock.
func NewChain(h *History, now func() int64) Chain {
	if now == nil {
		now = func() int64 { return time.Now().UnixMilli() }
	}
	if h == nil {
		return Chain{From{0, ZeroHash}, 0, now}
	}
	return Chain{h.At(), h.Last().Time, now}
}

// Append sets the members S, T, Y and H of a record, and appends its line to b. synced is the
// number of the last synced record. After an error the chain and b are unchanged.
func (c *Chain) Append(b []byte, r *Record, synced uint64) ([]byte, error) {
	r.Seq, r.Time = c.at.S+1, c.Time()
	r.Synced = c.at.S > 0 && synced == c.at.S
	lines, h, err := r.append(b, c.at.H)
	if err != nil {
		return b, err
	}
	c.at, c.last = From{r.Seq, h}, r.Time
	return lines, nil
}

// At returns the position after the last record.
func (c *Chain) At() From { return c.at }

// Time returns the current time in Unix milliseconds, or the time of the last record if that is
// later.
func (c *Chain) Time() int64 { return max(c.now(), c.last) }

// Blob is a large value that is stored outside the journal.
type Blob struct {
	Sum  string // SHA-256 in hex, by which the record names the value
	Data json.RawMessage
}

// TakeBlob replaces a large value in a record by its hash, and returns the value. ok is false if
// the record contains no large value.
func (r *Record) TakeBlob() (b Blob, ok bool) {
	if len(r.Result) <= BlobSize || r.RecordKind == KStart {
		return b, false
	}
	b = Blob{hexsum.SHA256(r.Result), r.Result}
	r.Blob, r.Result = b.Sum, nil
	return b, true
}
