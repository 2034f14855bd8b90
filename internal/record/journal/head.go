package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// headName is the file with the head of a journal whose first files were dropped.
const headName = "head.json"

// Head describes the dropped files. A journal without a head is complete.
type Head struct {
	Format  int    `json:"format"`
	Segment int    `json:"segment"` // the first remaining file
	S       uint64 `json:"s"`       // the last record before it,
	T       int64  `json:"t"`       // its time
	H       string `json:"h"`       // and its hash, which the first remaining record follows
	// how long the processes before the one that wrote it had run the run, in ms,
	Ran   int64 `json:"ran"`
	Since int64 `json:"since"` // and when that one had begun, in Unix ms
	// Records are the dropped records that every reader needs: of the kinds start, secret, resume,
	// adopt and stop.
	Records []*Record `json:"records"`
	// Rest is the writer's summary of all other records.
	Rest json.RawMessage `json:"rest"`
}

var sumMember = []byte(`,"sum":"`)

// seal returns an object as a line of JSON whose last member is the SHA-256 of everything before
// it.
func seal(v any) ([]byte, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return nil, err
	}
	open := bytes.TrimSuffix(text, []byte("}"))
	return fmt.Appendf(nil, "%s%s%s\"}\n", open, sumMember, hexsum.SHA256(open)), nil
}

// checkSeal returns why a line was not written by sealed, or nil.
func checkSeal(text []byte) error {
	at := bytes.LastIndex(text, sumMember)
	if at < 0 {
		return errors.New("it is cut off")
	}
	if want := string(sumMember) + hexsum.SHA256(text[:at]) + "\"}\n"; string(text[at:]) != want {
		return errors.New("its SHA-256 does not match")
	}
	return nil
}

// After reports whether fewer records remain than with another head; nil means a complete journal.
func (h *Head) After(other *Head) bool {
	return h != nil && (other == nil || h.Segment > other.Segment)
}

func badHead(why string) error { return &DamagedError{headName, why, RestoreAdvice} }

// readHead reads the head of a journal, or returns nil if it is complete.
func readHead(files Files) (*Head, error) {
	text, err := files.Read(headName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := checkSeal(text); err != nil {
		return nil, badHead(err.Error())
	}
	h := &Head{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, badHead(err.Error())
	}
	if h.Format > Format {
		return nil, &NewerFormatError{h.Format}
	}
	if h.Segment < 1 || len(h.Records) == 0 != (h.S == 0) {
		return nil, badHead("it does not contain the run's start")
	}
	return h, nil
}

// begin starts a history after the dropped records.
func (h *History) begin(head *Head) (chain string, segment int) {
	if head == nil {
		return zeroHash, 1
	}
	h.Head, h.N = head, head.S
	h.Records = append(h.Records, head.Records...)
	h.ran = ran{before: head.Ran, from: head.Since, last: head.T}
	return head.H, head.Segment
}
