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
		r.S, err = strconv.ParseUint(string(value), 10, 64)
		ok = err == nil
	case "t":
		number(&r.T)
	case "k":
		text(&r.K)
	case "y":
		r.Y, ok = string(value) == "true", string(value) == "true"
	case "e":
		number(&r.E)
	case "p":
		number(&r.P)
	case "q":
		text(&r.Q)
	case "c":
		text(&r.C)
	case "of":
		number(&r.Of)
	case "d":
		text(&r.D)
	case "key":
		text(&r.Key)
	case "due":
		number(&r.Due)
	case "until":
		number(&r.Until)
	case "x":
		text(&r.X)
	case "by":
		text(&r.By)
	case "n":
		number(&r.N)
	case "r":
		r.R, ok = bytes.Clone(value), true
	case "v":
		r.V, ok = bytes.Clone(value), true
	case "h":
		text(&r.H)
	}
	return ok
}
