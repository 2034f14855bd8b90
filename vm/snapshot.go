package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// A snapshot is the state of a run at a boundary: no task can continue, and the next result has not
// been consumed. It consists of a line of JSON (its Snapshot), a body without pointers, and the
// SHA-256 of both. Equal states result in equal bytes.

// SnapshotFormat is the format of snapshots. It increases when older versions would misread a
// snapshot. Older formats can be read: format 2, which does not record whether a listen's host has
// exited, format 3, in which agents have no files, and format 4, in which hosts have no workspace
// and fewer error types exist.
const (
	SnapshotFormat  = 5
	oldestSnapshots = 2
)

// Estimates of the state of a task, from which the first sizes of buffers are computed.
const (
	entitiesPerTask = 3
	bytesPerTask    = 96
)

// Snapshot is the first line of a snapshot.
type Snapshot struct {
	Format int            `json:"format"`
	S      int64          `json:"s"`      // number of the last journal record before the snapshot
	H      string         `json:"h"`      // hash of that record
	Engine int            `json:"engine"` // version of the VM's behavior, as in the journal
	IR     string         `json:"ir"`     // the program's SHA-256
	Counts SnapshotCounts `json:"counts"`
	// MS is the time that the encoding took, in milliseconds, or 0 if unknown.
	MS float64 `json:"ms,omitempty"`
	// Runner is the state of the VM's caller: JSON without a newline, which the VM stores
	// unchanged.
	Runner json.RawMessage `json:"runner,omitempty"`
}

// SnapshotCounts contains the numbers of objects in a snapshot.
type SnapshotCounts struct {
	Tasks    int   `json:"tasks"`
	Effects  int64 `json:"effects"`  // effects that the run has begun
	Requests int   `json:"requests"` // pending requests
	Entities int   `json:"entities"`
}

// ReadSnapshot reads the first line of a snapshot and verifies its checksum. The error is a
// *DamagedError.
func ReadSnapshot(data []byte) (*Snapshot, error) {
	head, _, err := splitSnapshot(data)
	return head, err
}

// Timed sets the MS of a snapshot.
//
// data must be a snapshot that was just taken: its checksum is not verified.
func Timed(data []byte, ms float64) ([]byte, error) {
	line, body, found := bytes.Cut(data[:max(0, len(data)-sha256.Size)], []byte("\n"))
	own, runner, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("}")), runnerMember)
	head := Snapshot{}
	if err := json.Unmarshal(append(bytes.Clone(own), '}'), &head); !found || err != nil {
		return nil, &DamagedError{fmt.Sprintf("could not read its first line: %v", err)}
	}
	head.MS, head.Runner = ms, runner
	return head.join(body)
}

// runnerMember is the start of the last member of the first line. It does not occur earlier in the
// line.
var runnerMember = []byte(`,"runner":`)

// join builds a snapshot from its first line and the parts of its body.
func (s *Snapshot) join(body ...[]byte) ([]byte, error) {
	line := *s
	line.Runner = nil
	own, err := jsonwrite.Encode(line)
	if err != nil {
		return nil, &NoSnapshotError{err.Error()}
	}
	size := len(own) + len(s.Runner) + 64
	for _, part := range body {
		size += len(part)
	}
	out := append(make([]byte, 0, size), own...)
	if len(s.Runner) > 0 {
		out = append(append(append(out[:len(out)-1], runnerMember...), s.Runner...), '}')
	}
	out = append(out, '\n')
	for _, part := range body {
		out = append(out, part...)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

func splitSnapshot(data []byte) (head *Snapshot, body []byte, err error) {
	end := len(data) - sha256.Size
	if end < 0 {
		return nil, nil, &DamagedError{"it is too short"}
	}
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return nil, nil, &DamagedError{"its SHA-256 does not match"}
	}
	line, body, found := bytes.Cut(data[:end], []byte("\n"))
	head = new(Snapshot)
	if err := json.Unmarshal(line, head); !found || err != nil {
		return nil, nil, &DamagedError{fmt.Sprintf("could not read its first line: %v", err)}
	}
	if head.Format < oldestSnapshots || head.Format > SnapshotFormat {
		return nil, nil, &DamagedError{fmt.Sprintf("its format is %d, but only %d to %d are supported", head.Format, oldestSnapshots, SnapshotFormat)}
	}
	return head, body, nil
}

// isAtBoundary reports whether no task is in the middle of an operation.
func (m *VM) isAtBoundary() bool {
	return m.journaled.on && len(m.journaled.rest) == 0 && m.declared.whole && m.serving == nil && m.config.Choose == nil && !m.mustEnd() && !m.requests.cancelled && len(m.requests.bounds.unbegun) == 0 && m.sched.nested == 0
}

// Snapshot encodes the state of the run. Config.Boundary may call it. Snapshot sets Format and
// Counts of head. The error is a *NoSnapshotError.
func (m *VM) Snapshot(head Snapshot) ([]byte, error) {
	if !m.isAtBoundary() {
		return nil, &NoSnapshotError{"the run is beginning, ending, or not recorded"}
	}
	for _, f := range m.requests.pending {
		if row := effect.Lookup(f.request.Kind()); row == nil || row.By == effect.Stores && row.Inline {
			return nil, &NoSnapshotError{"a request to a store is pending"}
		}
	}
	size := m.sched.alive
	k := &StateCodec{m: m, format: SnapshotFormat, self: m, at: m.image.positionMap(), ids: make(map[unsafe.Pointer]uint64, entitiesPerTask*size),
		entities: make([]entity, 0, entitiesPerTask*size), out: make([]byte, 0, bytesPerTask*size)}
	heads, contents, err := k.write()
	if err != nil {
		return nil, err
	}
	head.Format = SnapshotFormat
	head.Counts = SnapshotCounts{Tasks: m.sched.alive, Effects: m.stats.Requests, Requests: len(m.requests.pending), Entities: len(k.entities)}
	return head.join(heads, contents)
}

// Restore creates a run from a snapshot of a run of the same program. Call Resume to continue it.
// The error is a *DamagedError, or the reason why the program cannot be loaded.
func Restore(config Config, data []byte) (*VM, error) {
	m, err := New(config)
	if err != nil {
		return nil, err
	}
	m.memory.begin(m.image.program.Limits.MaxMemoryMB, &m.pace, m.texts.offsets.Clear)
	restored, err := m.readState(data)
	if err != nil {
		return nil, err
	}
	for _, f := range restored {
		m.requests.addPending(f)
	}
	return m, nil
}

// readState decodes the state into an empty run. It returns the pending requests.
func (m *VM) readState(data []byte) (restored []*pendingRequest, err error) {
	head, body, err := splitSnapshot(data)
	if err != nil {
		return nil, err
	}
	k := &StateCodec{m: m, format: head.Format, self: m, at: m.image.positionMap()}
	if err := k.read(body); err != nil {
		return nil, err
	}
	m.declared.whole = true
	return k.restored, nil
}

// Resume continues a run that Restore has created. It returns the same results as Run. Pending
// requests begin again, in their order and with their numbers.
func (m *VM) Resume(ctx context.Context) (*Outcome, error) {
	ctx = m.journaled.begin(ctx, &m.config)
	m.requests.begin(ctx)
	restored := m.requests.underWay()
	all := maps.Clone(m.requests.pending)
	clear(m.requests.pending)
	m.requests.made = 0
	for _, seq := range restored {
		f := all[seq]
		if !m.beginJournaled(f) {
			m.launch(m.requests.addPending(f), f.request, f)
		}
		if f.cancelled {
			f.cancel()
		}
	}
	m.loop()
	v, err := m.outcome(ctx, m.sched.main, m.ending.lost, m.ending.cut)
	if err != nil {
		return nil, err
	}
	return &Outcome{Value: v, Stats: m.stats, Unfinished: m.image.entries(m.ending.unfinished)}, nil
}

// Verified takes a snapshot and verifies that it is complete: it restores a second run from the
// snapshot, and a snapshot of the second run must have the same bytes. Then it replaces the state
// of this run by the restored state, and another snapshot of this run must have the same bytes,
// too. The error is a *NoSnapshotError, or a *DamagedError or *DiffersError. The last two end the
// run.
func (m *VM) Verified(head Snapshot) ([]byte, error) {
	data, err := m.Snapshot(head)
	if err != nil {
		return nil, err
	}
	if err := m.verify(head, data); err != nil {
		m.ending.fatal = err
		m.sched.cancelAll()
		return nil, err
	}
	return data, nil
}

// verify checks a snapshot as Verified describes and replaces the state of the run by it.
func (m *VM) verify(head Snapshot, data []byte) error {
	other, err := newRun(m.config, m.image)
	if err != nil {
		return err
	}
	restored, err := other.readState(data)
	if err != nil {
		return err
	}
	for _, f := range restored {
		other.requests.addPending(f)
	}
	if err := m.same(other, head, data); err != nil {
		return err
	}
	if err := m.Renew(data); err != nil {
		return err
	}
	return m.same(m, head, data)
}

// same reports a *DiffersError unless the snapshot of other equals data, the snapshot of m.
func (m *VM) same(other *VM, head Snapshot, data []byte) error {
	second, err := other.Snapshot(head)
	if err == nil && !bytes.Equal(data, second) {
		err = &DiffersError{len(data), len(second)}
	}
	return err
}

// DiffersError reports that the snapshot of a restored run differs from the snapshot from which it
// was restored.
type DiffersError struct{ Before, After int } // sizes of the two snapshots in bytes

func (e *DiffersError) Error() string {
	return fmt.Sprintf("the snapshot of a restored run differs from the snapshot from which it was restored: %d bytes, not %d", e.After, e.Before)
}

// Renew replaces the state of the run by the state in a snapshot that Config.Boundary has just
// taken. Pending requests stay pending. After an error the run cannot continue.
func (m *VM) Renew(data []byte) error {
	before := m.requests
	written, memory, left := m.journaled, m.memory, m.config
	image := m.image
	*m = VM{}
	m.init(left, image)
	m.journaled, m.memory = written, memory
	m.requests.ctx, m.requests.atOnce, m.requests.cancelled = before.ctx, before.atOnce, before.cancelled
	m.requests.made, m.requests.inbox, m.requests.arrived, m.requests.goroutes = before.made, before.inbox, before.arrived, before.goroutes
	m.requests.held, m.requests.idle = before.held, before.idle
	restored, err := m.readState(data)
	if err != nil {
		m.ending.fatal = err
		return err
	}
	byEffect := map[int64]int{}
	for seq, f := range before.pending {
		byEffect[f.effect] = seq
	}
	for _, f := range restored {
		seq, found := byEffect[f.effect]
		if !found {
			m.ending.fatal = &DamagedError{fmt.Sprintf("effect %d is pending in the snapshot, but not in the run", f.effect)}
			return m.ending.fatal
		}
		old := before.pending[seq]
		f.end, f.release, f.request, f.observed, f.came = old.end, old.release, old.request, old.observed, old.came
		m.requests.pending[seq] = f
	}
	return nil
}
