package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Head describes the dropped files of a journal. A journal without a head is complete.
type Head struct {
	Format  int    `json:"format"`
	Segment int    `json:"segment"` // number of the first remaining file
	S       uint64 `json:"s"`       // number of the last dropped record
	T       int64  `json:"t"`       // time of the last dropped record, in Unix milliseconds
	H       string `json:"h"`       // hash of the last dropped record
	// duration in milliseconds for which earlier processes ran the run, without the process of
	// Since
	Ran   int64 `json:"ran"`
	Since int64 `json:"since"` // start of the process that wrote the last dropped record, in Unix milliseconds
	// Records are the dropped records that every reader needs, of the kinds start, secret, resume,
	// adopt and stop.
	Records []*Record `json:"records"`
	// Rest is the DropSummary of all dropped records.
	Rest json.RawMessage `json:"rest"`
}

var sumMember = []byte(`,"sum":"`)

// Seal encodes an object as a line of JSON whose last member is the SHA-256 of the text before it.
func Seal(v any) ([]byte, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return nil, err
	}
	open := bytes.TrimSuffix(text, []byte("}"))
	return fmt.Appendf(nil, "%s%s%s\"}\n", open, sumMember, hexsum.SHA256(open)), nil
}

// IsSealed reports whether a text contains a member that Seal adds. Older versions wrote none.
func IsSealed(text []byte) bool { return bytes.Contains(text, sumMember) }

// CheckSeal returns an error if a line does not have the form of Seal or its sum is wrong.
func CheckSeal(text []byte) error {
	at := bytes.LastIndex(text, sumMember)
	if at < 0 {
		return errors.New("it is cut off")
	}
	if want := string(sumMember) + hexsum.SHA256(text[:at]) + "\"}\n"; string(text[at:]) != want {
		return errors.New("its SHA-256 does not match")
	}
	return nil
}

// After reports whether more records were dropped than according to other. nil means that none were
// dropped.
func (h *Head) After(other *Head) bool {
	return h != nil && (other == nil || h.Segment > other.Segment)
}

// ParseHead parses and verifies the text of a head. The error is a *NewerFormatError, or states why
// the text is invalid.
func ParseHead(text []byte) (*Head, error) {
	if err := CheckSeal(text); err != nil {
		return nil, err
	}
	h := &Head{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, err
	}
	if h.Format > Format {
		return nil, &NewerFormatError{h.Format}
	}
	if h.Segment < 1 || len(h.Records) == 0 != (h.S == 0) {
		return nil, errors.New("it does not contain the run's start")
	}
	return h, nil
}

// NewHead returns the head of a journal whose records are dropped up to the last one of a history.
// segment is the number of the first remaining file. rest is the summary of the dropped records.
func NewHead(h *History, segment int, rest []byte) *Head {
	last := h.Last()
	return &Head{Format: Format, Segment: segment, S: last.S, T: last.T, H: last.H, Ran: h.ran.before, Since: h.ran.from, Records: h.Records, Rest: rest}
}
