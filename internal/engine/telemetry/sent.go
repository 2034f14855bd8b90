package telemetry

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// SentFile is the name of the record of a stored run's exports, in the directory of the run.
const SentFile = "telemetry.ndjson"

// Sent records which spans of a stored run were exported, so that a run that is resumed exports no
// span twice. A batch is recorded before it is sent, so a batch that was being sent when the
// process was killed counts as sent.
type Sent struct {
	mu      sync.Mutex
	path    string
	parent  otlp.Context
	known   map[otlp.SpanID]bool
	batches int
	begun   bool
	// the file cannot be read, so it is unknown what was exported
	unreadable bool
}

// sentRecord is a line of the file: the context in which the run began, the spans of a batch, or
// the number of a batch that was accepted.
type sentRecord struct {
	Parent   string   `json:"traceparent,omitempty"`
	State    string   `json:"tracestate,omitempty"`
	Batch    int      `json:"batch,omitempty"`
	Spans    []string `json:"spans,omitempty"`
	Accepted int      `json:"accepted,omitempty"`
}

// OpenSent reads the record of a run, or begins it. Only the process that owns the run may write to
// it.
func OpenSent(path string) (*Sent, error) {
	s := &Sent{path: path, known: map[otlp.SpanID]bool{}}
	err := s.read(func(x *sentRecord) {
		s.begun = true
		if x.Parent != "" {
			s.parent, _ = otlp.ParseContext(x.Parent, x.State)
		}
		s.batches = max(s.batches, x.Batch)
		for _, text := range x.Spans {
			var id otlp.SpanID
			if n, err := hex.Decode(id[:], []byte(text)); err == nil && n == len(id) {
				s.known[id] = true
			}
		}
	})
	s.unreadable = err != nil
	return s, err
}

// Status returns the number of spans of a run that a collector has accepted, and of those that were
// sent and perhaps not received, by the record of the run. found is false if it has none.
func Status(path string) (sent, unknown int, found bool, err error) {
	s, sizes := &Sent{path: path}, map[int]int{}
	err = s.read(func(x *sentRecord) {
		found = true
		if x.Batch > 0 {
			sizes[x.Batch] = len(x.Spans)
			unknown += len(x.Spans)
		}
		sent += sizes[x.Accepted]
		unknown -= sizes[x.Accepted]
	})
	return sent, unknown, found, err
}

// TraceOf returns the id of the trace of a stored run, by its directory.
func TraceOf(dir, run string) otlp.TraceID {
	if s, err := OpenSent(filepath.Join(dir, SentFile)); err == nil && s.parent.Trace != (otlp.TraceID{}) {
		return s.parent.Trace
	}
	return otlp.TraceOf(run)
}

// read calls f with each line. A last line without an end was not written completely.
func (s *Sent) read(f func(*sentRecord)) error {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the record of exports: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var x sentRecord
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return fmt.Errorf("read the record of exports %s: %w", s.path, err)
		}
		f(&x)
	}
	return lines.Err()
}

// begin records the context in which a new run begins.
func (s *Sent) begin(parent otlp.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun || s.unreadable {
		return
	}
	s.begun = true
	if parent.Trace != (otlp.TraceID{}) {
		_ = s.write(&sentRecord{Parent: parent.String(), State: parent.State}) // the first batch reports the error
	}
}

// has reports whether a span was exported. s may be nil.
func (s *Sent) has(id otlp.SpanID) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[id]
}

// sending records a batch before it is sent. accepted is called when the collector has accepted it.
func (s *Sent) sending(ids []otlp.SpanID) (accepted func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &sentRecord{Batch: s.batches + 1}
	for _, id := range ids {
		x.Spans = append(x.Spans, hex.EncodeToString(id[:]))
	}
	if err := s.write(x); err != nil {
		return nil, err
	}
	s.batches++
	for _, id := range ids {
		s.known[id] = true
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.write(&sentRecord{Accepted: x.Batch}) // without it the batch counts as unknown
	}, nil
}

// write appends a line to the file and syncs it.
func (s *Sent) write(x *sentRecord) error {
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("record the export: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// remember maps a span to the record of its run, until it is sent.
func (t *Telemetry) remember(id otlp.SpanID, s *Sent) {
	if s != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.sent[id] = s
	}
}

// sending records the spans of a request in the records of their runs.
func (t *Telemetry) sending(ids []otlp.SpanID) (accepted func(), err error) {
	t.mu.Lock()
	by := map[*Sent][]otlp.SpanID{}
	for _, id := range ids {
		if s := t.sent[id]; s != nil {
			by[s] = append(by[s], id)
			delete(t.sent, id)
		}
	}
	t.mu.Unlock()
	var all []func()
	for s, own := range by {
		done, err := s.sending(own)
		if err != nil {
			return nil, err
		}
		all = append(all, done)
	}
	return func() {
		for _, done := range all {
			done()
		}
	}, nil
}
