package durable

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// sleep is a running timer. Its numbers are the members s, t, e, p, ms and due of a begin record
// that has no other content.
type sleep [6]int64

// packSleeps encodes timers compactly, because a run may have tens of thousands. The timers are in
// the order of their begin records. Each number is a varint with the difference from the previous
// timer.
func packSleeps(all []sleep) []byte {
	b := make([]byte, 0, 12*len(all))
	var last sleep
	for i := range all {
		for j, n := range all[i] {
			b = binary.AppendVarint(b, n-last[j])
		}
		last = all[i]
	}
	return b
}

// unpackSleeps decodes the result of packSleeps.
func unpackSleeps(b []byte) (all []sleep, err error) {
	var last sleep
	for len(b) > 0 {
		for j := range last {
			n, size := binary.Varint(b)
			if size <= 0 {
				return nil, errors.New("the record of its timers is incomplete")
			}
			last[j] += n
			b = b[size:]
		}
		all = append(all, last)
	}
	return all, nil
}

// sleepOf returns the numbers of a timer's begin record. ok is false if q is not a timer, or the
// record has other content.
func sleepOf(q effect.Request, f *inFlight) (s sleep, ok bool) {
	timer, ok := q.(*effect.Sleep)
	if !ok || f.tries > 1 || f.until != 0 || f.policy != "" || f.rule != "" {
		return s, false
	}
	r := f.begin
	s = sleep{int64(r.S), r.T, r.E, r.P, timer.Milliseconds, r.Due}
	var text [32]byte
	return s, bytes.Equal(r.R, s.appendRequest(text[:0]))
}

// appendRequest appends the request of the timer as JSON.
func (s *sleep) appendRequest(b []byte) []byte {
	b, _ = (&effect.Sleep{Milliseconds: s[4]}).AppendJSON(b)
	return b
}

// begun returns the timer as a begin record.
func (s *sleep) begun() begunEffect {
	r := &journal.Record{S: uint64(s[0]), T: s[1], K: journal.KBegin, E: s[2], P: s[3], Q: string(effect.KindSleep), C: effect.ClassWaits.String()}
	r.R, r.Due = s.appendRequest(nil), s[5]
	r.D = hexsum.SHA256(r.R)[:32]
	return begunEffect{Record: r, Tries: 1}
}

// unpack adds the packed timers to Begun, in the order of their begin records.
func (s *State) unpack() error {
	timers, err := unpackSleeps(s.Sleeps)
	if err != nil {
		return err
	}
	for i := range timers {
		s.Begun = append(s.Begun, timers[i].begun())
	}
	s.Sleeps = nil
	slices.SortFunc(s.Begun, func(a, b begunEffect) int { return cmp.Compare(a.Record.S, b.Record.S) })
	return nil
}
