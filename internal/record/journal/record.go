// Package journal defines the records of durable runs, and the interfaces of their stores. The
// journal of a run contains everything that the run received and sent, as a chain of records with
// hashes, so that the run can be resumed (spec/journal.md). The package does not interpret effects,
// and does not access files: package rundir stores a run in a directory.
package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Format is the version of the format. It increases if older readers would misread the new format.
const Format = 1

// The kinds of records.
const (
	KStart   = "start"
	KDid     = "did"   // an effect without a begin record has ended
	KBegin   = "begin" // an effect is about to be performed
	KEnd     = "end"
	KLines   = "lines" // a host has sent lines
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

// Start is the content of the start record.
type Start struct {
	Format  int             `json:"format"`
	Run     string          `json:"run"`
	Program string          `json:"program"` // name of the main file
	IR      string          `json:"ir"`      // SHA-256 of program.conc-ir, in hex
	Engine  int             `json:"engine"`
	Args    []string        `json:"args"`
	Inputs  json.RawMessage `json:"inputs"`
	Session json.RawMessage `json:"session"`
	Seed    string          `json:"seed"`
	Flags   json.RawMessage `json:"flags"`
	Fork    *Fork           `json:"fork,omitempty"` // origin of a forked run; nil for other runs
}

// Fork describes the origin of a fork and the change that it makes.
type Fork struct {
	Run string `json:"run"`
	At  int64  `json:"at"`
	// command-line flag that created the fork: --answer, --result, --error or --at
	Flag   string          `json:"flag"`
	Answer json.RawMessage `json:"answer,omitempty"` // replaces the result of the effect
}

// Record is a line of a journal. The members of each kind are in spec/journal.md. Members are
// written in the order of the fields. Append sets Seq, Time, Synced and Hash.
type Record struct {
	Seq        uint64 `json:"s"` // number of the record: 1, 2, … without gaps
	Time       int64  `json:"t"` // Unix milliseconds
	RecordKind string `json:"k"`
	Synced     bool   `json:"y,omitempty"` // all earlier records are on the disk

	*Start
	Effect int64  `json:"e,omitempty"` // number of the effect
	Task   int64  `json:"p,omitempty"` // number of the task
	Place  string `json:"place,omitempty"`
	Kind   string `json:"q,omitempty"`  // kind of the effect
	Class  string `json:"c,omitempty"`  // class of the effect
	Of     int64  `json:"of,omitempty"` // number of the effect that opened the object which this effect uses
	RequestMembers
	ResultMembers
	// position in a task's turn at which the result arrived; nil if it arrived between turns
	Moment *[2]int64 `json:"w,omitempty"`
	Owner
	RareMembers

	Hash string `json:"h,omitempty"`
}

// RequestMembers contains the members of a record that describe an effect before it is performed.
type RequestMembers struct {
	Request json.RawMessage `json:"r,omitempty"`
	Digest  string          `json:"d,omitempty"` // first 32 hex digits of the SHA-256 of Request
	Key     string          `json:"key,omitempty"`
	Due     int64           `json:"due,omitempty"`  // expiry of a timer in Unix milliseconds
	Mark    *int64          `json:"mark,omitempty"` // size of the file before the effect; -1 if it did not exist
	Try     int             `json:"try,omitempty"`
	// Until is the deadline of the effect in Unix milliseconds; 0 if there is none.
	Until int64 `json:"until,omitempty"`
	// Policy is the @on_unknown policy of the effect, and Rule is the function with the annotation.
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
	// Type and Schema are the name and the JSON Schema of the type that an awaited emit expects.
	Type   string          `json:"type,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// ResultMembers contains the members of a record that describe the result of an effect.
type ResultMembers struct {
	Outcome       string          `json:"x,omitempty"` // done, none or unknown; for a finish Continued or ""
	Result        json.RawMessage `json:"v,omitempty"`
	Blob          string          `json:"blob,omitempty"` // hash of the file that contains the result, if that is large
	Err           json.RawMessage `json:"err,omitempty"`
	FirstLine     int64           `json:"l,omitempty"`       // number of the first line of a host
	Lines         []string        `json:"m,omitempty"`       // lines of a host as it wrote them
	ProtocolLines []string        `json:"lines,omitempty"`   // the lines as messages of the protocol, if an adapter has translated them
	Decided       []int           `json:"decided,omitempty"` // indexes of the messages that rules have decided
	Sizes         []int           `json:"sizes,omitempty"`   // sizes of the original lines in bytes
	Talk          string          `json:"talk,omitempty"`    // new id of the host's conversation, if it has changed
	// number of the host's process, if another process has opened the exchange
	Process int64 `json:"process,omitempty"`
}

// Translated returns a host's lines in the form of the protocol, which differs from the recorded
// lines if an adapter translates them.
func (g *ResultMembers) Translated() []string {
	if g.ProtocolLines != nil {
		return g.ProtocolLines
	}
	return g.Lines
}

// BySuspending is By in the last record of kind out of a process that has suspended the run.
const BySuspending = "suspend"

// ByParking replaces BySuspending if the process has parked the run, and has then received a result
// with which the run can continue.
const ByParking = "park"

// Owner identifies the process that executes the run from this record on. The kinds out and finish
// use N for the number of lines of output.
type Owner struct {
	N       int64  `json:"n,omitempty"`
	By      string `json:"by,omitempty"`
	Machine string `json:"machine,omitempty"`
	Boot    string `json:"boot,omitempty"` // id of the machine's boot
	// id of the PID namespace, which differs between containers on one machine
	PIDNS string `json:"pid_ns,omitempty"`
}

// Numbered returns the owner with its number n in the sequence of the run's processes.
func (o Owner) Numbered(n int64) Owner {
	o.N = n
	return o
}

// RareMembers contains members that only a few kinds of records use.
type RareMembers struct {
	Name   string `json:"name,omitempty"`
	Check  string `json:"check,omitempty"`
	Waits  []Wait `json:"waits,omitempty"`
	Code   *int   `json:"code,omitempty"`
	Ledger string `json:"ledger,omitempty"`
	// Resolved is the decision about an effect with an unknown outcome.
	Resolved *Resolved `json:"resolved,omitempty"`
}

// Resolved is a decision about an effect with an unknown outcome, and its author.
type Resolved struct {
	Answer json.RawMessage `json:"answer,omitempty"` // a text: retry, fail, done or done:JSON
	// text: why there is no answer, or why the answer is invalid
	Error json.RawMessage `json:"error,omitempty"`
	By    string          `json:"by"`
	Name  string          `json:"name,omitempty"`
	MS    int64           `json:"ms,omitempty"`
}

// Wait is an answer (ID) or a time (Due, in Unix milliseconds) for which a parked run waits.
type Wait struct {
	Effect int64  `json:"e"`
	ID     string `json:"id,omitempty"`
	Due    int64  `json:"due,omitempty"`
}

// ZeroHash takes the place of the previous hash in the first record.
const ZeroHash = "00000000000000000000000000000000"

var hashMember = []byte(`,"h":"`)

// hashOf returns the hash of a line. It is computed from the hash of the previous line and from the
// text before the member h.
func hashOf(previous string, line []byte) string {
	sum := sha256.New()
	sum.Write([]byte(previous))
	sum.Write(line)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// append appends the line of a record to b and returns its hash.
func (r *Record) append(b []byte, previous string) ([]byte, string, error) {
	r.Hash = ""
	before := len(b)
	b, err := r.encode(b)
	if err != nil {
		return b, "", fmt.Errorf("write a record of kind %s: %w", r.RecordKind, err)
	}
	b = b[:len(b)-1] // without the closing brace
	r.Hash = hashOf(previous, b[before:])
	b = append(append(b, hashMember...), r.Hash...)
	return append(b, "\"}\n"...), r.Hash, nil
}

// ErrCut means that a record is incomplete.
var ErrCut = errors.New("the record is cut off")

// Parse parses a line without its newline. It verifies that the line follows the record with the
// hash previous.
func Parse(line []byte, previous string) (*Record, error) {
	var r Record
	at := bytes.LastIndex(line, hashMember)
	if at < 0 || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, ErrCut
	}
	if err := r.decode(line); err != nil {
		return nil, fmt.Errorf("it is not a record: %w", err)
	}
	if h := hashOf(previous, line[:at]); h != r.Hash {
		return nil, fmt.Errorf("its hash is %s, but that of the text is %s", shortHash(r.Hash), shortHash(h))
	}
	if len(line)-at != len(hashMember)+len(ZeroHash)+len(`"}`) {
		return nil, errors.New("it has text after its hash")
	}
	return &r, nil
}

func shortHash(h string) string { return h[:min(len(h), 8)] + "…" }

// StateAfter returns the state of a run in a shared store whose owner leaves it after a last
// record; nil means none. wake is the time of its first timer; nil means none. code is its exit
// code; nil if it has not ended.
func StateAfter(last *Record) (state string, wake *time.Time, code *int) {
	switch {
	case last == nil:
	case last.RecordKind == KPark:
		for _, x := range last.Waits {
			if at := time.UnixMilli(x.Due); x.Due > 0 && (wake == nil || at.Before(*wake)) {
				wake = &at
			}
		}
		return "waiting", wake, nil
	case last.RecordKind == KFinish && *last.Code == 0:
		return "finished", nil, last.Code
	case last.RecordKind == KFinish:
		return "failed", nil, last.Code
	}
	return "ready", nil, nil
}
