package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// QuestionID returns the id of the question that effect e asks.
func QuestionID(e int64) string { return fmt.Sprintf("q%d", e) }

// UnknownID returns the id of the question about the outcome of effect e.
func UnknownID(e int64) string { return fmt.Sprintf("u%d", e) }

// UnknownChannel is the channel of questions about the outcome of an effect.
const UnknownChannel = "run:unknown"

// Resolutions lists the possible decisions about an effect with an unknown outcome.
const Resolutions = "retry, fail, done or done:JSON"

// IsResolution reports whether a text is one of the Resolutions.
func IsResolution(text string) bool {
	rest, done := strings.CutPrefix(text, "done:")
	return text == "retry" || text == "fail" || text == "done" || done && json.Valid([]byte(rest))
}

// AnsweredText describes the answer to a question that already has one.
func AnsweredText(id, by string, at int64) string {
	return fmt.Sprintf("%s was answered by %s at %s", id, by, time.UnixMilli(at).UTC().Format(time.RFC3339))
}

// WasAnswered returns who answered a question and when. ok is false if the journal contains no
// answer.
func WasAnswered(h *History, id string) (by string, at int64, ok bool) {
	for _, r := range h.Records {
		e := r.Effect
		if r.RecordKind == KDid && r.Resolved != nil {
			e = r.Of
		} else if r.RecordKind != KEnd {
			continue
		}
		if r.By == "" || QuestionID(e) != id && UnknownID(e) != id {
			continue
		}
		return r.By, r.Time, true
	}
	return "", 0, false
}

// IsConsumed reports whether the journal contains an answer to a question. An effect can have an
// unknown outcome several times, with the same id: an answer that was given after the newest
// decision is not consumed.
func IsConsumed(h *History, id string, a *Answer) bool {
	for _, r := range slices.Backward(h.Records) {
		switch {
		case r.RecordKind == KEnd && QuestionID(r.Effect) == id:
			return true
		case r.RecordKind == KEnd && r.By != "" && UnknownID(r.Effect) == id,
			r.RecordKind == KDid && r.Resolved != nil && UnknownID(r.Of) == id,
			r.RecordKind == KBegin && r.Resolved != nil && UnknownID(r.Effect) == id:
			if a.Seen > 0 {
				return r.Seq > a.Seen
			}
			return a.At <= r.Time
		}
	}
	return false
}

// Over reports whether records of a run close a question. by is the name of the person or the
// way that answered it, or "" if it was closed without an answer. at is in Unix milliseconds.
func Over(records []*Record, id string) (by string, at int64, over bool) {
	for _, r := range records {
		e := r.Effect
		switch {
		case r.RecordKind == KDid && r.Resolved != nil:
			e = r.Of
		case r.RecordKind == KBegin && r.Resolved != nil && UnknownID(e) == id:
			return cmp.Or(r.Resolved.Name, r.Resolved.By), r.Time, true
		case r.RecordKind != KEnd:
			continue
		}
		if QuestionID(e) == id || UnknownID(e) == id {
			return r.By, r.Time, true
		}
	}
	return "", 0, false
}
