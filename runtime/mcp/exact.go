package mcp

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/sse"
)

// The SDK reads the numbers of ids, progress tokens and structured results as float64, which rounds
// integers above 2⁵³. Therefore such members are replaced before the SDK reads a message: a
// structured result by its JSON text as a string, and an id by a string from which the number is
// restored in what the SDK writes.

// numberMark begins the strings that replace numbers. It is random, so that no other text of a
// message can contain it.
var numberMark = sync.OnceValue(func() string { return "number-" + rand.Text() + ":" })

// exactIn returns a received message, or a list of messages, for the SDK.
func exactIn(message []byte) []byte {
	if text := bytes.TrimSpace(message); len(text) > 0 && text[0] == '[' {
		var all []json.RawMessage
		if json.Unmarshal(text, &all) != nil {
			return message
		}
		for i := range all {
			all[i] = exactIn(all[i])
		}
		return encodeRaw(all, message)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil {
		return message // the SDK reports the error
	}
	changed := markNumber(m, "id")
	changed = inMember(m, "params", func(params map[string]json.RawMessage) bool {
		token := inMember(params, "_meta", func(meta map[string]json.RawMessage) bool { return markNumber(meta, "progressToken") })
		return markNumber(params, "requestId") || token
	}) || changed
	changed = inMember(m, "result", func(result map[string]json.RawMessage) bool {
		structured := result["structuredContent"]
		if structured == nil || string(structured) == "null" {
			return false
		}
		result["structuredContent"], _ = json.Marshal(string(structured)) // a string has JSON
		return true
	}) || changed
	if !changed {
		return message
	}
	return encodeRaw(m, message)
}

// inMember changes the object that is a member of m, if it is one that may need a change.
func inMember(m map[string]json.RawMessage, name string, change func(map[string]json.RawMessage) bool) bool {
	var inner map[string]json.RawMessage
	if m[name] == nil || json.Unmarshal(m[name], &inner) != nil || !change(inner) {
		return false
	}
	m[name] = encodeRaw(inner, m[name])
	return true
}

// markNumber replaces a member that is a number which float64 may not represent digit by digit.
func markNumber(m map[string]json.RawMessage, name string) bool {
	text := string(m[name])
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && -1<<53 < n && n < 1<<53 && text != "-0" {
		return false
	}
	m[name] = json.RawMessage(`"` + numberMark() + text + `"`)
	return true
}

// encodeRaw returns a value as JSON, or otherwise if that fails.
func encodeRaw(v any, otherwise []byte) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return otherwise
	}
	return data
}

// exactOut restores the numbers in what the SDK has written.
func exactOut(data []byte) []byte {
	mark := []byte(`"` + numberMark())
	var out []byte
	for {
		before, after, found := bytes.Cut(data, mark)
		end := bytes.IndexByte(after, '"')
		if !found || end < 0 {
			return append(out, data...)
		}
		out = append(append(out, before...), after[:end]...)
		data = after[end+1:]
	}
}

// exactWriter restores numbers. The SDK writes each message with one call.
type exactWriter struct{ io.WriteCloser }

func (w exactWriter) Write(p []byte) (int, error) {
	if _, err := w.WriteCloser.Write(exactOut(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// exactResponse restores numbers in a response to a client of Concerto's server.
type exactResponse struct{ http.ResponseWriter }

func (w exactResponse) Write(p []byte) (int, error) {
	if _, err := w.ResponseWriter.Write(exactOut(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap returns the ResponseWriter for http.ResponseController.
func (w exactResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// maxMessage is the maximum size of a message in bytes; the SDK refuses larger ones.
const maxMessage = 16 << 20

// exactReader is a source of messages for the SDK. next returns the next part of the text that the
// SDK reads.
type exactReader struct {
	io.Closer
	next func() ([]byte, error)
	rest []byte
	err  error
}

func (r *exactReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.rest, r.err = r.next()
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; n > 0 || r.err == nil {
		return n, nil
	}
	return 0, r.err
}

// exactLines returns a reader of messages that are one on a line. A longer line is not changed.
func exactLines(in io.ReadCloser) io.ReadCloser {
	lines := bufio.NewReader(in)
	inside := false // in a line that is too long
	return &exactReader{Closer: in, next: func() ([]byte, error) {
		var line []byte
		for {
			part, err := lines.ReadSlice('\n')
			line = append(line, part...)
			ended := err != bufio.ErrBufferFull
			if inside || len(line) > maxMessage {
				inside = !ended
				if !ended {
					err = nil
				}
				return line, err
			}
			if ended {
				message := exactIn(line)
				if len(message) > 0 && message[len(message)-1] != '\n' && err == nil {
					message = append(message, '\n')
				}
				return message, err
			}
		}
	}}
}

// exactBody returns a body that is one message, or a list of messages.
func exactBody(in io.ReadCloser) io.ReadCloser {
	done := false
	return &exactReader{Closer: in, next: func() ([]byte, error) {
		if done {
			return nil, io.EOF
		}
		done = true
		message, err := io.ReadAll(io.LimitReader(in, maxMessage+1))
		if err == nil && len(message) > maxMessage {
			err = sse.ErrTooLong
		}
		return exactIn(message), err
	}}
}

// exactEvents returns a stream of events in the form that the SDK reads. handle receives the data
// of each event before the SDK.
func exactEvents(in io.ReadCloser, handle func(data []byte)) io.ReadCloser {
	events := sse.NewReader(in, maxMessage)
	return &exactReader{Closer: in, next: func() ([]byte, error) {
		e, err := events.Next()
		if err != nil && (err != io.ErrUnexpectedEOF || len(e.Data) == 0) {
			return nil, err
		}
		handle(e.Data)
		var b bytes.Buffer
		for _, field := range [][2]string{{"event", e.Name}, {"id", e.ID}, {"retry", e.Retry}} {
			if field[1] != "" {
				b.WriteString(field[0] + ": " + field[1] + "\n")
			}
		}
		if len(e.Data) > 0 {
			for line := range bytes.Lines(exactIn(e.Data)) {
				b.WriteString("data: ")
				b.Write(bytes.TrimSuffix(line, []byte("\n")))
				b.WriteByte('\n')
			}
		}
		b.WriteByte('\n')
		if err == io.ErrUnexpectedEOF {
			err = io.EOF
		}
		return b.Bytes(), err
	}}
}

// structuredResult returns the JSON of a structured result, whose text exactIn has stored. The
// error names the member that is wrong.
func structuredResult(text string) (json.RawMessage, error) {
	v, err := value.ParseWire([]byte(text))
	if err != nil {
		return nil, resultError{memberAt([]byte(text), err), err}
	}
	return value.AppendJSON(nil, v), nil
}

// resultError is the error for a structured result that is not valid.
type resultError struct {
	member string
	why    error
}

func (e resultError) Error() string {
	why := e.why.Error()
	if s, ok := e.why.(*value.SyntaxError); ok {
		why = s.Message
	}
	if e.member == "" {
		return "its structured result is invalid: " + why
	}
	return "its structured result is invalid: `" + e.member + "`: " + why
}

// memberAt returns the path of the member in which a syntax error is, or "".
func memberAt(text []byte, err error) string {
	wrong, ok := err.(*value.SyntaxError)
	if !ok {
		return ""
	}
	type level struct {
		name  string
		index int // of an element, or -1 for an object
		key   bool
	}
	var open []level
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil || d.InputOffset() > int64(wrong.Offset) {
			break
		}
		n := len(open)
		switch token {
		case json.Delim('{'):
			open = append(open, level{index: -1, key: true})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:n-1]
			n--
		}
		if n == 0 {
			break
		}
		switch top := &open[n-1]; {
		case top.index >= 0:
			top.index++
		case top.key:
			top.name, _ = token.(string)
			top.key = false
		default:
			top.key = true
		}
	}
	var path strings.Builder
	for _, x := range open {
		switch {
		case x.index >= 0:
			path.WriteString("[" + strconv.Itoa(x.index) + "]")
		case path.Len() > 0:
			path.WriteString("." + x.name)
		default:
			path.WriteString(x.name)
		}
	}
	return path.String()
}
