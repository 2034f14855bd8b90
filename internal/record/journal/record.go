// Package journal keeps a durable run's directory: what the run got and gave, record after
// record in a chain of hashes, so that the run can be gone on with (spec/journal.md); its API
// promises nothing. It knows nothing of what effects mean.
package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Format is the number of the form: it is raised by a change that old readers would misread.
const Format = 1

// The kinds of record.
const (
	KStart   = "start"
	KDid     = "did"   // an effect that only read, or that the host's keeper knows of
	KBegin   = "begin" // an effect is about to be made
	KEnd     = "end"
	KLines   = "lines" // a host said something
	KPlace   = "place"
	KSecret  = "secret"
	KOut     = "out"
	KPark    = "park"
	KResume  = "resume"
	KStop    = "stop"
	KAdopt   = "adopt"
	KSegment = "segment"
	KFinish  = "finish"
)

// Start is what the first record says of a run.
type Start struct {
	Format  int             `json:"format"`
	Run     string          `json:"run"`
	Program string          `json:"program"` // the main file's name
	IR      string          `json:"ir"`      // SHA-256 of program.conc-ir, in hex
	Engine  int             `json:"engine"`
	Args    []string        `json:"args"`
	Inputs  json.RawMessage `json:"inputs"`
	Session json.RawMessage `json:"session"`
	Seed    string          `json:"seed"`
	Flags   json.RawMessage `json:"flags"`
	Fork    *Fork           `json:"fork,omitempty"` // of a run that goes on from another one
}

// Fork is where a run has parted from another one, and what it was given there.
type Fork struct {
	Run    string          `json:"run"`
	At     int64           `json:"at"`
	Flag   string          `json:"flag"`             // by which it was made: --answer, --result, --error or --at
	Answer json.RawMessage `json:"answer,omitempty"` // in the place of what the effect gave
}

// Record is a line of a journal. Which members a kind has, spec/journal.md says; their order
// here is that of the line. S, T, Y and H are set when it is appended.
type Record struct {
	S uint64 `json:"s"` // 1, 2, … without a gap
	T int64  `json:"t"` // Unix milliseconds
	K string `json:"k"`
	Y bool   `json:"y,omitempty"` // all before it is on the disk

	*Start
	E     int64  `json:"e,omitempty"` // the effect's number
	P     int64  `json:"p,omitempty"` // the task's
	Place string `json:"place,omitempty"`
	Q     string `json:"q,omitempty"`  // the effect's kind
	C     string `json:"c,omitempty"`  // its class
	Of    int64  `json:"of,omitempty"` // the effect that opened what this one is about
	Asked
	Gave
	W *[2]int64 `json:"w,omitempty"` // when it came in the midst of a turn
	Owner
	Rest

	H string `json:"h,omitempty"`
}

// Asked is what a record says of an effect before it is made.
type Asked struct {
	R    json.RawMessage `json:"r,omitempty"`
	D    string          `json:"d,omitempty"` // of r: 32 hex digits of its SHA-256
	Key  string          `json:"key,omitempty"`
	Due  int64           `json:"due,omitempty"`  // Unix milliseconds
	Mark *int64          `json:"mark,omitempty"` // the size of a file before
	Try  int             `json:"try,omitempty"`
	// Until is when the effect's own time is over, in Unix milliseconds; 0 when it has none.
	Until int64 `json:"until,omitempty"`
	// Policy is what a marked function says of it, and Rule that function's name.
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
	// Of what an awaited emit waits for: the type's name, and its JSON Schema.
	Type   string          `json:"type,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Gave is what a record says of what an effect gave.
type Gave struct {
	X       string          `json:"x,omitempty"` // done, none or unknown
	V       json.RawMessage `json:"v,omitempty"`
	Blob    string          `json:"blob,omitempty"` // of v, when it is large
	Err     json.RawMessage `json:"err,omitempty"`
	L       int64           `json:"l,omitempty"`       // the first line's number
	M       []string        `json:"m,omitempty"`       // the raw lines
	Lines   []string        `json:"lines,omitempty"`   // as they were translated, where they were
	Decided []int           `json:"decided,omitempty"` // which of them rules have decided
	Sizes   []int           `json:"sizes,omitempty"`   // of the lines as they came
	Talk    string          `json:"talk,omitempty"`    // how the host calls the conversation, where that is new
	Process int64           `json:"process,omitempty"` // of the host, that has said them, where it is not the one of the exchange's opening
}

// Owner says who runs the run from here on, or, of N alone, how much of the output is printed.
type Owner struct {
	N       int64  `json:"n,omitempty"`
	By      string `json:"by,omitempty"`
	Machine string `json:"machine,omitempty"`
	Boot    string `json:"boot,omitempty"`   // names the time since the machine was started
	PIDNS   string `json:"pid_ns,omitempty"` // names what the process numbers belong to: containers of a machine have their own
}

// Rest is what a few kinds of record say.
type Rest struct {
	Name   string `json:"name,omitempty"`
	Check  string `json:"check,omitempty"`
	Waits  []Wait `json:"waits,omitempty"`
	Code   *int   `json:"code,omitempty"`
	Ledger string `json:"ledger,omitempty"`
	// Resolved is what was decided of an effect of which nobody knew whether it had been done.
	Resolved *Resolved `json:"resolved,omitempty"`
}

// Resolved is what was decided, and by whom.
type Resolved struct {
	Answer json.RawMessage `json:"answer,omitempty"` // a text: retry, fail, done or done:JSON
	Error  json.RawMessage `json:"error,omitempty"`  // a text: why there is none, or why it is not taken
	By     string          `json:"by"`
	Name   string          `json:"name,omitempty"`
	MS     int64           `json:"ms,omitempty"`
}

// Wait is something that a parked run waits for: an answer, or a time.
type Wait struct {
	E   int64  `json:"e"`
	ID  string `json:"id,omitempty"`
	Due int64  `json:"due,omitempty"`
}

// zeroHash stands for the record before the first.
const zeroHash = "00000000000000000000000000000000"

var hashMember = []byte(`,"h":"`)

// hashOf is the hash of a line, which is what stands before its member h.
func hashOf(previous string, line []byte) string {
	sum := sha256.New()
	sum.Write([]byte(previous))
	sum.Write(line)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// append appends the line of a record, and gives its hash.
func (r *Record) append(b []byte, previous string) ([]byte, string, error) {
	r.H = ""
	text, err := jsonwrite.Encode(r)
	if err != nil {
		return b, "", fmt.Errorf("write a record of kind %s: %w", r.K, err)
	}
	open := bytes.TrimSuffix(text, []byte("}"))
	r.H = hashOf(previous, open)
	b = append(append(b, open...), hashMember...)
	return append(append(b, r.H...), "\"}\n"...), r.H, nil
}

// skim reads the number and the kind of a line without its end, and checks as parse does that it
// follows the record before it. What is wrong parse says. text is room for it to work in.
func skim(line []byte, previous string, r *Record, text *[]byte) error {
	at := len(line) - len(hashMember) - len(zeroHash) - len(`"}`)
	if at < 0 || !bytes.HasPrefix(line[at:], hashMember) {
		return errCut
	}
	*text = append(append((*text)[:0], previous...), line[:at]...)
	sum := sha256.Sum256(*text)
	h := hex.AppendEncode((*text)[:0], sum[:16])
	if stated := line[at+len(hashMember):]; !bytes.HasPrefix(stated, h) {
		return errCut
	}
	rest, ok := bytes.CutPrefix(line, []byte(`{"s":`))
	number, rest, _ := bytes.Cut(rest, []byte(`,`))
	time, rest, found := bytes.Cut(rest, []byte(`,"k":"`))
	kind, _, _ := bytes.Cut(rest, []byte(`"`))
	s, err := strconv.ParseUint(string(number), 10, 64)
	t, terr := strconv.ParseInt(string(bytes.TrimPrefix(time, []byte(`"t":`))), 10, 64)
	if !ok || !found || err != nil || terr != nil {
		return errCut
	}
	*r = Record{S: s, T: t, K: wholeKinds[string(kind)], H: string(h)}
	return nil
}

// wholeKinds are the kinds that are told apart where a record is not read whole.
var wholeKinds = map[string]string{KStart: KStart, KSecret: KSecret, KResume: KResume, KAdopt: KAdopt, KStop: KStop}

var errCut = errors.New("the record is cut off")

// parse reads a line without its end, and checks that it follows the record before it.
func parse(line []byte, previous string) (*Record, error) {
	var r Record
	at := bytes.LastIndex(line, hashMember)
	if at < 0 || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, errCut
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("it is no record: %w", err)
	}
	if h := hashOf(previous, line[:at]); h != r.H {
		return nil, fmt.Errorf("its hash is %s, and that of what stands there %s", shortHash(r.H), shortHash(h))
	}
	return &r, nil
}

func shortHash(h string) string { return h[:min(len(h), 8)] + "…" }
