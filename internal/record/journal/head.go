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

// headName is the file that says what of the journal's beginning is kept, when its first files are not.
const headName = "head.json"

// Head is what is kept of the records before the first file that is kept. Without one they all are.
type Head struct {
	Format  int    `json:"format"`
	Segment int    `json:"segment"` // the first file that is kept
	S       uint64 `json:"s"`       // the last record before it,
	T       int64  `json:"t"`       // its time
	H       string `json:"h"`       // and its hash, which the first record behind it follows
	Ran     int64  `json:"ran"`     // how long processes had run the run before that which wrote it, in ms,
	Since   int64  `json:"since"`   // and when this had begun to, in Unix ms
	// Records are those before that every reader needs: of the kinds start, secret, resume, adopt and stop.
	Records []*Record `json:"records"`
	// Rest is what who writes the records keeps of all the others.
	Rest json.RawMessage `json:"rest"`
}

var sumMember = []byte(`,"sum":"`)

// sealed returns an object as a line of JSON whose last member is the SHA-256 of all before it.
func sealed(v any) ([]byte, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return nil, err
	}
	open := bytes.TrimSuffix(text, []byte("}"))
	return fmt.Appendf(nil, "%s%s%s\"}\n", open, sumMember, hexsum.SHA256(open)), nil
}

// checkSeal returns why a line is not as sealed made it.
func checkSeal(text []byte) error {
	at := bytes.LastIndex(text, sumMember)
	if at < 0 {
		return errors.New("it is cut off")
	}
	if want := string(sumMember) + hexsum.SHA256(text[:at]) + "\"}\n"; string(text[at:]) != want {
		return errors.New("its SHA-256 is another")
	}
	return nil
}

// After says whether less is kept than with another head; nil is that of a journal of which all is.
func (h *Head) After(other *Head) bool {
	return h != nil && (other == nil || h.Segment > other.Segment)
}

func badHead(why string) error { return &Damaged{headName, why, PutBack} }

// readHead reads what is kept of the journal's beginning; nil when it is there.
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
		return nil, &Newer{h.Format}
	}
	if h.Segment < 1 || len(h.Records) == 0 != (h.S == 0) {
		return nil, badHead("it says nothing of the run's start")
	}
	return h, nil
}

// begin has a history begin behind what is not kept.
func (h *History) begin(head *Head) (chain string, segment int) {
	if head == nil {
		return zeroHash, 1
	}
	h.Head, h.N = head, head.S
	h.Records = append(h.Records, head.Records...)
	h.ran = ran{before: head.Ran, from: head.Since, last: head.T}
	return head.H, head.Segment
}
