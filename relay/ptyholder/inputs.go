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

// State is what has become of an input.
type State string

// The states.
const (
	Unseen        State = ""              // it never came
	Begun         State = "begun"         // it is being written, or nobody lived to say that it was
	Applied       State = "applied"       // it was written
	Indeterminate State = "indeterminate" // a part of it was written
	Rejected      State = "rejected"      // nothing of it was written
	Conflict      State = "input_conflict"
)

// record is a line of the file of inputs: never a text.
type record struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256,omitempty"` // of the text
	State  State  `json:"state"`
}

// inputs writes each input once.
type inputs struct {
	write  func([]byte) (int, error)
	echoes func() bool

	mu    sync.Mutex
	more  *sync.Cond
	f     *os.File
	torn  bool // the last line may be a part of one
	known map[string]*input
	queue []*input
	over  bool

	served chan struct{} // closed when nothing is written any more
}

type input struct {
	record
	text  string
	keys  bool // not recorded
	tell  []func(State, bool)
	shown bool // the terminal echoed when it was written
}

func openInputs(dir string) (*inputs, error) {
	f, err := os.OpenFile(filepath.Join(dir, inputsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the record of inputs: %w", err)
	}
	in := &inputs{f: f, known: map[string]*input{}, served: make(chan struct{})}
	in.more = sync.NewCond(&in.mu)
	return in, nil
}

// take takes an input and has tell told what becomes of it; one that is known is not
// written again. It may be told at once.
func (in *inputs) take(id, hash, text string, tell func(state State, echoed bool)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if old := in.known[id]; old != nil {
		switch {
		case old.SHA256 != hash:
			tell(Conflict, false)
		case old.tell != nil:
			old.tell = append(old.tell, tell)
		default:
			tell(old.State, old.shown)
		}
		return
	}
	if in.over {
		tell(Rejected, false)
		return
	}
	one := &input{record: record{id, hash, Unseen}, text: text, tell: []func(State, bool){tell}}
	in.known[id] = one
	in.queue = append(in.queue, one)
	in.more.Signal()
}

// press takes keys: they are written like inputs, and not remembered.
func (in *inputs) press(keys string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if last := len(in.queue) - 1; last >= 0 && in.queue[last].keys && len(in.queue[last].text) < 64<<10 {
		in.queue[last].text += keys
		return
	}
	in.queue = append(in.queue, &input{text: keys, keys: true})
	in.more.Signal()
}

// state is what has become of an input.
func (in *inputs) state(id string) (State, string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if one := in.known[id]; one != nil {
		return one.State, one.SHA256
	}
	return Unseen, ""
}

// serve writes what comes, until close.
func (in *inputs) serve() {
	defer close(in.served)
	for {
		in.mu.Lock()
		for len(in.queue) == 0 && !in.over {
			in.more.Wait()
		}
		if len(in.queue) == 0 {
			in.mu.Unlock()
			return
		}
		one, over := in.queue[0], in.over
		in.queue = in.queue[1:]
		in.mu.Unlock()
		state := Rejected
		if !over {
			state = in.apply(one)
		}
		in.mu.Lock()
		one.State, one.text = state, ""
		tell := one.tell
		one.tell = nil
		in.mu.Unlock()
		for _, f := range tell {
			f(state, one.shown)
		}
	}
}

// apply writes one, between two records that are on the disk before anything goes on.
func (in *inputs) apply(one *input) State {
	if one.keys {
		_, _ = in.write([]byte(one.text)) // keys are never certain
		return Applied
	}
	one.shown = in.echoes()
	if err := in.note(record{one.ID, one.SHA256, Begun}); err != nil {
		return Rejected
	}
	state := Applied
	if n, err := in.write([]byte(one.text)); err != nil && n > 0 {
		state = Indeterminate
	} else if err != nil {
		state = Rejected
	}
	if err := in.note(record{one.ID, "", state}); err != nil && state == Rejected {
		return Indeterminate
	}
	return state
}

func (in *inputs) note(r record) error {
	text, err := json.Marshal(r)
	if in.torn { // what the disk had no room for ends here
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

// close has nothing written any more. It waits until the record says of what is being written what became of it: a run
// may end as soon as it has read that.
func (in *inputs) close() {
	in.mu.Lock()
	in.over = true
	in.more.Broadcast()
	in.mu.Unlock()
	<-in.served
}

// ReadInput is what the record says of an input, when there is no shim to be asked, and its
// text's hash.
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
			continue // half a line is the last one of a shim that was killed
		}
		if state = r.State; r.SHA256 != "" {
			hash = r.SHA256
		}
	}
	return state, hash, lines.Err()
}
