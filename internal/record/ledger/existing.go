package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// ConflictError means that a resumed run makes a decision that differs from its record in the
// ledger.
type ConflictError struct {
	File   string
	Seq    int64 // number of the existing record
	Effect int64
	Was    string // content of the existing record, without its varying parts
	Is     string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: seq %d: it does not follow from the run: effect %d decided %s, and there stands %s", e.File, e.Seq, e.Effect, e.Is, e.Was)
}

// place identifies a record of a run: the nth record of effect e, where n starts at 0.
type place struct {
	e int64
	n int
}

// existingRecord is a record that the ledger already contains.
type existingRecord struct {
	seq  int64
	text string
	seen bool
}

// existingRecords contains the existing records of one run.
type existingRecords map[place]*existingRecord

// readExisting reads the existing records of the run from the ledger's file.
func (r *Run) readExisting() error {
	f, err := r.l.log.Reader()
	if err != nil {
		return fmt.Errorf("read %s: %w", Name, err)
	}
	defer f.Close()
	r.existing = existingRecords{}
	count := map[int64]int{}
	for line, err := range audit.Lines(f, r.l.Path()) {
		if err != nil {
			return err
		}
		if line.Run != r.o.ID {
			continue
		}
		if key, s := outsideKeyOf(line.Kind, line.Subject); key != "" {
			var data outsideAnswer
			if err := json.Unmarshal(line.Data, &data); err != nil {
				return fmt.Errorf("record %d of a %s: %w", line.Seq, Name, err)
			}
			r.outside[key], r.answered[answerKey(s.Host, s.ID)] = data, line.Seq
			continue
		}
		e := effectOf(line.Subject)
		text, err := stablePart(line.Kind, line.Actor, line.Subject, line.Data)
		if err != nil {
			return err
		}
		r.existing[place{e, count[e]}] = &existingRecord{seq: line.Seq, text: text}
		count[e]++
	}
	return nil
}

// effectOf returns the number of the effect in a record's subject, or 0.
func effectOf(subject json.RawMessage) int64 {
	var s struct {
		Effect int64 `json:"effect"`
	}
	_ = json.Unmarshal(subject, &s) // a subject without an effect leaves s empty
	return s.Effect
}

// key identifies a decision outside of exchanges. One line may contain several requests, and show
// that several decisions did not arrive.
func (s *OutsideSubject) key(kind string) string {
	return fmt.Sprintf("%s %s %s %s", kind, s.Host, s.Line, s.ID)
}

// outsideKeyOf returns the key of a record about a decision outside of exchanges, or "" for
// another record.
func outsideKeyOf(kind string, subject json.RawMessage) (key string, s OutsideSubject) {
	if json.Unmarshal(subject, &s) != nil || s.Line == "" {
		return "", s
	}
	return s.key(kind), s
}

func isOutside(subject json.RawMessage) bool {
	key, _ := outsideKeyOf("", subject)
	return key != ""
}

// stablePart returns the content of a record without the parts that vary when it is written again.
func stablePart(kind string, actor audit.Actor, subject, data json.RawMessage) (string, error) {
	var members map[string]json.RawMessage
	if data != nil {
		if err := json.Unmarshal(data, &members); err != nil {
			return "", fmt.Errorf("record of a %s: %w", Name, err)
		}
	}
	delete(members, "ms")
	delete(members, "of") // a resumed run also knows the decisions outside of exchanges that came later
	text, err := json.Marshal(struct {
		Kind    string                     `json:"kind"`
		Actor   audit.Actor                `json:"actor"`
		Subject json.RawMessage            `json:"subject"`
		Data    map[string]json.RawMessage `json:"data"`
	}{kind, actor, subject, members})
	if err == nil {
		text, err = jcs.Canonical(text)
	}
	return string(text), err
}

func (s existingRecords) has(e int64, n int) bool { return s[place{e, n}] != nil }

// compare returns a *ConflictError if a record differs from the existing one.
func (s existingRecords) compare(file string, e int64, n int, x audit.Record) error {
	was := s[place{e, n}]
	is, err := stablePart(x.Kind, x.Actor, x.Subject, x.Data)
	if err != nil {
		return err
	}
	if is != was.text {
		return &ConflictError{file, was.seq, e, was.text, is}
	}
	was.seen = true
	return nil
}

// notReproduced returns the numbers of the existing records that the resumed run has not produced
// again.
func (s existingRecords) notReproduced() map[int64]bool {
	var all map[int64]bool
	for _, x := range s {
		if !x.seen {
			if all == nil {
				all = map[int64]bool{}
			}
			all[x.seq] = true
		}
	}
	return all
}

// tail returns the number of records at the end of the ledger whose numbers are all in the set of,
// and the position before them. outside are the run's decisions outside of exchanges among them.
func (l *Ledger) tail(run string, of map[int64]bool) (at audit.Position, n int, outside []audit.Record, err error) {
	f, err := l.log.Reader()
	if err != nil {
		return at, 0, nil, fmt.Errorf("read %s: %w", Name, err)
	}
	defer f.Close()
	for line, err := range audit.Lines(f, l.Path()) {
		switch {
		case err != nil:
			return at, 0, nil, err
		case of[line.Seq]:
			n++
		case n > 0 && line.Run == run && isOutside(line.Subject):
			at, err := time.Parse(time.RFC3339, line.Time)
			if err != nil {
				return audit.Position{}, 0, nil, fmt.Errorf("read %s: %w", Name, err)
			}
			outside = append(outside, audit.Record{Run: line.Run, Kind: line.Kind, Actor: line.Actor, Subject: line.Subject, Data: line.Data, At: at})
		default:
			at, n, outside = line.At, 0, nil
		}
	}
	return at, n, outside, nil
}
