package otlp

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Context is a position in a trace, as the headers traceparent and tracestate pass it on
// (https://www.w3.org/TR/trace-context-2).
type Context struct {
	Trace   TraceID
	Span    SpanID
	Sampled bool
	State   string // tracestate
}

// ParseContext reads a traceparent. A newer version may have more fields. ok is false if it is
// malformed, or an id is all zeros.
func ParseContext(traceparent, tracestate string) (c Context, ok bool) {
	fields := strings.Split(strings.TrimSpace(traceparent), "-")
	if len(fields) < 4 || len(fields[0]) != 2 || fields[0] == "ff" || fields[0] == "00" && len(fields) > 4 || !isHex(fields[0]) {
		return c, false
	}
	var flags [1]byte
	for i, to := range [][]byte{c.Trace[:], c.Span[:], flags[:]} {
		text := fields[i+1]
		if len(text) != 2*len(to) || !isHex(text) {
			return Context{}, false
		}
		if _, err := hex.Decode(to, []byte(text)); err != nil {
			return Context{}, false
		}
	}
	if c.Trace == (TraceID{}) || c.Span == (SpanID{}) {
		return Context{}, false
	}
	c.Sampled, c.State = flags[0]&1 == 1, tracestate
	return c, true
}

// isHex reports whether a text consists of lower-case hexadecimal digits, as the format requires.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// String returns the traceparent.
func (c Context) String() string {
	flags := "00"
	if c.Sampled {
		flags = "01"
	}
	return "00-" + hex.EncodeToString(c.Trace[:]) + "-" + hex.EncodeToString(c.Span[:]) + "-" + flags
}

// TraceOf returns the id of the trace of a run that has no other one. It depends on the run's id
// only, so that a resumed run and a report have the same.
func TraceOf(run string) (t TraceID) {
	sum := sha256.Sum256([]byte("concerto trace " + run))
	copy(t[:], sum[:])
	return t
}

// Keys assigns ids to the items of a run. Items of the same kind and number are distinguished by
// their order, so that each replay of the run assigns the same ids. The zero Keys is not usable.
type Keys struct {
	run  string
	seen map[string]int
}

// NewKeys returns the Keys of a run.
func NewKeys(run string) *Keys { return &Keys{run, map[string]int{}} }

// Next returns the id of the next item of a kind with a number: that of its effect, or else that of
// its task.
func (k *Keys) Next(kind string, number int64) (s SpanID) {
	key := kind + " " + strconv.FormatInt(number, 10)
	k.seen[key]++
	if n := k.seen[key]; n > 1 {
		key += " " + strconv.Itoa(n)
	}
	sum := sha256.Sum256([]byte(k.run + " " + key))
	copy(s[:], sum[:])
	return s
}
