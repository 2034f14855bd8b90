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

// headName is the name of the file with the head. It exists if the first files of the journal were
// dropped.
const headName = "head.json"

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

// seal encodes an object as a line of JSON whose last member is the SHA-256 of the text before it.
func seal(v any) ([]byte, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return nil, err
	}
	open := bytes.TrimSuffix(text, []byte("}"))
	return fmt.Appendf(nil, "%s%s%s\"}\n", open, sumMember, hexsum.SHA256(open)), nil
}

// checkSeal returns an error if a line does not have the form of seal or its sum is wrong.
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

// After reports whether more records were dropped than according to other. nil means that none were
// dropped.
func (h *Head) After(other *Head) bool {
	return h != nil && (other == nil || h.Segment > other.Segment)
}

func badHead(why string) error { return &DamagedError{headName, why, RestoreAdvice} }

// readHead reads the head of a journal. It returns nil if the journal is complete.
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

// begin sets the state of a history before the first remaining record. It returns the hash of the
// last dropped record and the number of the first file.
func (h *History) begin(head *Head) (chain string, segment int) {
	if head == nil {
		return zeroHash, 1
	}
	h.Head, h.N = head, head.S
	h.Records = append(h.Records, head.Records...)
	h.ran = ran{before: head.Ran, from: head.Since, last: head.T}
	return head.H, head.Segment
}
