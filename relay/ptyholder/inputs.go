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
	Unseen State = "" // the input was never received
	// Begun means that the input is being written, or that the holder was killed while it wrote the
	// input.
	Begun         State = "begun"
	Applied       State = "applied"       // the input was written completely
	Indeterminate State = "indeterminate" // a part of the input was written
	Rejected      State = "rejected"      // nothing of the input was written
	Conflict      State = "input_conflict"
)

// record is a line of the file of inputs. It does not contain the text of the input.
type record struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256,omitempty"` // hash of the text
	State  State  `json:"state"`
}

// inputs writes inputs to the terminal, each at most once.
type inputs struct {
	write  func([]byte) (int, error)
	echoes func() bool

	mu     sync.Mutex
	more   *sync.Cond
	f      *os.File
	torn   bool // the last line of the file may be incomplete
	byID   map[string]*input
	queue  []*input
	closed bool

	served chan struct{} // closed when the writing goroutine has stopped
}

type input struct {
	record
	text   string
	keys   bool // the input consists of keys, which are not recorded
	report []func(State, bool)
	echoed bool // whether the terminal echoed at the time of writing
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

// submit queues an input. It calls report with the state of the input, at once or later. An input
// whose id is known is not written again.
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

// pressKeys queues keys. They are written, but not recorded.
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

// serve writes queued inputs until close is called.
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

// apply writes an input. It records the input before and after the write, and syncs each record.
func (in *inputs) apply(one *input) State {
	if one.keys {
		_, _ = in.write([]byte(one.text)) // ignore the error: keys need not arrive
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
	if in.torn { // terminates the incomplete line that was written to a full disk
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

// close stops the writing of inputs. It waits until the state of the current input is recorded,
// because a run may exit as soon as it has read the input.
func (in *inputs) close() {
	in.mu.Lock()
	in.closed = true
	in.more.Broadcast()
	in.mu.Unlock()
	<-in.served
}

// ReadInput returns the recorded state of an input and the hash of its text. It is used when the
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
			continue // the line of another input, or an incomplete last line
		}
		if state = r.State; r.SHA256 != "" {
			hash = r.SHA256
		}
	}
	return state, hash, lines.Err()
}
