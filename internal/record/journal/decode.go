package journal

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jsonread"
)

// decode parses a line. Records of the frequent kinds are read without reflection, in half of the
// time. A line with another member is left to encoding/json.
func (r *Record) decode(line []byte) error {
	if jsonread.Members(line, r.set) {
		return nil
	}
	*r = Record{}
	return json.Unmarshal(line, r)
}

// set sets a frequent member. It returns false for any other member, and for a value that
// encoding/json must read.
func (r *Record) set(name, value []byte) (ok bool) {
	var err error
	text := func(to *string) {
		var inner []byte
		if inner, ok = jsonread.Plain(value); ok {
			*to = string(inner)
		}
	}
	number := func(to *int64) {
		*to, err = strconv.ParseInt(string(value), 10, 64)
		ok = err == nil
	}
	switch string(name) {
	case "s":
		r.Seq, err = strconv.ParseUint(string(value), 10, 64)
		ok = err == nil
	case "t":
		number(&r.Time)
	case "k":
		text(&r.RecordKind)
	case "y":
		r.Synced, ok = string(value) == "true", string(value) == "true"
	case "e":
		number(&r.Effect)
	case "p":
		number(&r.Task)
	case "q":
		text(&r.Kind)
	case "c":
		text(&r.Class)
	case "of":
		number(&r.Of)
	case "d":
		text(&r.Digest)
	case "key":
		text(&r.Key)
	case "due":
		number(&r.Due)
	case "until":
		number(&r.Until)
	case "x":
		text(&r.Outcome)
	case "by":
		text(&r.By)
	case "n":
		number(&r.N)
	case "r":
		r.Request, ok = bytes.Clone(value), true
	case "v":
		r.Result, ok = bytes.Clone(value), true
	case "h":
		text(&r.Hash)
	}
	return ok
}
