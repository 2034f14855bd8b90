package ptyholder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// State is the state of an input.
type State string

// The states of an input.
const (
	Unseen State = "" // it was never received
	// it is being written, or the holder was killed while writing
	Begun         State = "begun"
	Applied       State = "applied"       // it was written
	Indeterminate State = "indeterminate" // a part of it was written
	Rejected      State = "rejected"      // nothing of it was written
	Conflict      State = "input_conflict"
)

// record is a line of the inputs file. It never contains a text.
type record struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256,omitempty"` // of the text
	State  State  `json:"state"`
}

// inputs writes each input once.
type inputs struct {
	write  func([]byte) (int, error)
	echoes func() bool

	mu     sync.Mutex
	more   *sync.Cond
	f      *os.File
	torn   bool // the last line may be incomplete
	byID   map[string]*input
	queue  []*input
	closed bool

	served chan struct{} // closed when writing has stopped
}

type input struct {
	record
	text   string
	keys   bool // keys are not recorded
	report []func(State, bool)
	echoed bool // whether the terminal echoed when it was written
}

func openInputs(dir string) (*inputs, error) {
	f, err := os.OpenFile(filepath.Join(dir, inputsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the record of inputs: %w", err)
	}
	in := &inputs{f: f, byID: map[string]*input{}, served: make(chan struct{})}
	in.more = sync.NewCond(&in.mu)
	return in, nil
}

// submit queues an input and calls report with its state. An input with a known id is not written
// again. It may call report at once.
func (in *inputs) submit(id, hash, text string, report func(state State, echoed bool)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if old := in.byID[id]; old != nil {
		switch {
		case old.SHA256 != hash:
			report(Conflict, false)
		case old.report != nil:
			old.report = append(old.report, report)
		default:
			report(old.State, old.echoed)
		}
		return
	}
	if in.closed {
		report(Rejected, false)
		return
	}
	one := &input{record: record{id, hash, Unseen}, text: text, report: []func(State, bool){report}}
	in.byID[id] = one
	in.queue = append(in.queue, one)
	in.more.Signal()
}

// pressKeys queues keys, which are written but not recorded.
func (in *inputs) pressKeys(keys string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if last := len(in.queue) - 1; last >= 0 && in.queue[last].keys && len(in.queue[last].text) < 64<<10 {
		in.queue[last].text += keys
		return
	}
	in.queue = append(in.queue, &input{text: keys, keys: true})
	in.more.Signal()
}

// state returns the state of an input.
func (in *inputs) state(id string) (State, string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if one := in.byID[id]; one != nil {
		return one.State, one.SHA256
	}
	return Unseen, ""
}

// serve writes queued inputs until close.
func (in *inputs) serve() {
	defer close(in.served)
	for {
		in.mu.Lock()
		for len(in.queue) == 0 && !in.closed {
			in.more.Wait()
		}
		if len(in.queue) == 0 {
			in.mu.Unlock()
			return
		}
		one, over := in.queue[0], in.closed
		in.queue = in.queue[1:]
		in.mu.Unlock()
		state := Rejected
		if !over {
			state = in.apply(one)
		}
		in.mu.Lock()
		one.State, one.text = state, ""
		report := one.report
		one.report = nil
		in.mu.Unlock()
		for _, f := range report {
			f(state, one.echoed)
		}
	}
}

// apply writes an input between two records, each of which is synced before it continues.
func (in *inputs) apply(one *input) State {
	if one.keys {
		_, _ = in.write([]byte(one.text)) // keys are best effort
		return Applied
	}
	one.echoed = in.echoes()
	if err := in.writeRecord(record{one.ID, one.SHA256, Begun}); err != nil {
		return Rejected
	}
	state := Applied
	if n, err := in.write([]byte(one.text)); err != nil && n > 0 {
		state = Indeterminate
	} else if err != nil {
		state = Rejected
	}
	if err := in.writeRecord(record{one.ID, "", state}); err != nil && state == Rejected {
		return Indeterminate
	}
	return state
}

func (in *inputs) writeRecord(r record) error {
	text, err := json.Marshal(r)
	if in.torn { // ends the incomplete line that a full disk left
		text = append([]byte{'\n'}, text...)
	}
	if err == nil {
		_, err = in.f.Write(append(text, '\n'))
		in.torn = err != nil
	}
	if err == nil {
		err = in.f.Sync()
	}
	return err
}

// close stops writing and waits until the state of the current input is recorded: the run may end
// as soon as it has read it.
func (in *inputs) close() {
	in.mu.Lock()
	in.closed = true
	in.more.Broadcast()
	in.mu.Unlock()
	<-in.served
}

// ReadInput returns the recorded state of an input and the hash of its text, for use when the
// holder has exited.
func ReadInput(dir, id string) (State, string, error) {
	f, err := os.Open(filepath.Join(dir, inputsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Unseen, "", nil
	}
	if err != nil {
		return Unseen, "", fmt.Errorf("read the record of inputs: %w", err)
	}
	defer f.Close()
	state, hash := Unseen, ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.ID != id {
			continue // an incomplete last line, left by a kill
		}
		if state = r.State; r.SHA256 != "" {
			hash = r.SHA256
		}
	}
	return state, hash, lines.Err()
}
