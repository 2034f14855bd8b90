package runs

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// Input is a text for the terminal of a run. A text with the same ID is written at most once.
type Input struct {
	ID    string
	Text  string
	Actor string // web, cli or system
	By    string // name of the user
	Deny  bool   // the text denies a request; such a text is known, and not secret
}

// storedInput is the stored state of an input. It does not contain the text.
type storedInput struct {
	SHA256   string `json:"sha256,omitempty"` // hash of the text; "" if the text is secret
	Deny     bool   `json:"deny,omitempty"`
	State    string `json:"state"` // "" while the input is being written
	Redacted string `json:"redacted"`
	Actor    string `json:"actor"`
	By       string `json:"by,omitempty"`
}

// inputKind is the kind of the notes that store inputs.
const inputKind = "input"

// Input writes an input and returns its state. The state is applied, or indeterminate if it is
// unknown whether the input was written. An input whose id is known is not written again. If the
// input is refused, the error is an *approvals.Error.
func (m *Manager) Input(ctx context.Context, id string, in Input) (string, error) {
	r, err := m.find(id)
	if err != nil {
		return "", err
	}
	if !protocol.IsID(in.ID) {
		return "", approvals.Errorf(protocol.BadMessage, "input_id %q is not a valid id", in.ID)
	}
	return r.writeInput(ctx, in)
}

// writeInput writes an input. Concurrent calls with the same id run one after another.
func (r *run) writeInput(ctx context.Context, in Input) (string, error) {
	for {
		r.mu.Lock()
		other := r.writing[in.ID]
		if other == nil {
			done := make(chan struct{})
			r.writing[in.ID] = done
			defer func() {
				r.mu.Lock()
				delete(r.writing, in.ID)
				r.mu.Unlock()
				close(done)
			}()
		}
		r.mu.Unlock()
		if other == nil {
			return r.writeOnce(ctx, in)
		}
		select {
		case <-other:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func (r *run) writeOnce(ctx context.Context, in Input) (string, error) {
	old, err := r.loadInput(ctx, in.ID)
	if err != nil {
		return "", err
	}
	// A hash of a password can be guessed offline, so nothing of a secret text is stored. Inputs
	// with the same id then count as the same input.
	secret := old != nil && old.SHA256 == "" || old == nil && !in.Deny && r.readsSecret()
	hash := ""
	if !secret {
		hash = hexsum.SHA256(in.Text)
	}
	switch {
	case old != nil && old.SHA256 != hash:
		return "", approvals.Errorf(protocol.InputConflict, "input %s of run %s was sent with another text: use a new id", in.ID, r.id)
	case old != nil && old.State != "":
		return old.State, nil
	case !r.startWork():
		return "", approvals.Errorf(protocol.RunHasExited, "run %s has ended", r.id)
	}
	defer r.busy.Done()
	n := storedInput{SHA256: hash, Deny: in.Deny, Actor: in.Actor, By: in.By, Redacted: redact.Mark}
	if n.Actor == "" {
		n.Actor = "web"
	}
	if !secret {
		n.Redacted = r.m.o.Redact.In(r.Started.Cwd).Text(in.Text)
	}
	if err := r.storeInput(ctx, in.ID, n, nil); err != nil {
		return "", err
	}
	asked := r.openPrompt()
	// From here on the input is recorded even if the caller cancels ctx.
	state, _, err := r.client.Input(r.m.ctx, in.ID, hash, in.Text)
	if errors.Is(err, ptyholder.ErrLost) {
		state, _, err = ptyholder.ReadInput(r.dir, in.ID)
	}
	if err != nil {
		return "", err
	}
	became, err := r.recordInput(context.WithoutCancel(ctx), in.ID, n, state)
	if err == nil && became == string(ptyholder.Applied) && asked != "" && asked != in.ID {
		r.withdrawOvertaken(asked)
	}
	return became, err
}

// openPrompt returns the id of the open prompt of the terminal, or "" if there is none.
func (r *run) openPrompt() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prompt
}

// withdrawOvertaken withdraws a prompt because an input was written while the prompt was open. A
// prompt that was opened after the input stays open.
func (r *run) withdrawOvertaken(id string) {
	r.promptMu.Lock()
	defer r.promptMu.Unlock()
	if r.openPrompt() == id {
		r.withdrawPrompt("an input was written")
	}
}

// readsSecret reports whether the program reads a line without echo, such as a password. A program
// that reads single keys does not count. If the mode of the terminal is unknown, the result is
// true.
func (r *run) readsSecret() bool {
	_, secret, err := r.client.Modes(r.m.ctx)
	return err != nil || secret
}

// recordInput stores the state of an input and commits its event.
func (r *run) recordInput(ctx context.Context, id string, n storedInput, state ptyholder.State) (string, error) {
	switch state {
	case ptyholder.Applied:
		n.State = string(ptyholder.Applied)
		return n.State, r.storeInput(ctx, id, n, &protocol.Input{Actor: n.Actor, InputID: id, TextRedacted: n.Redacted, TextSHA256: n.SHA256, By: n.By})
	case ptyholder.Begun, ptyholder.Indeterminate:
		n.State = string(ptyholder.Indeterminate)
		return n.State, r.storeInput(ctx, id, n, nil)
	case ptyholder.Conflict:
		return "", approvals.Errorf(protocol.InputConflict, "input %s of run %s was sent with another text: use a new id", id, r.id)
	}
	if err := r.commit(ctx, spool.Change{Notes: []spool.Note{{Kind: inputKind, Key: id}}}); err != nil {
		return "", err
	}
	return "", approvals.Errorf(protocol.RunHasExited, "run %s no longer accepts input", r.id)
}

func (r *run) loadInput(ctx context.Context, id string) (*storedInput, error) {
	text, err := r.m.o.Spool.Note(ctx, r.id, inputKind, id)
	if err != nil || text == nil {
		return nil, err
	}
	var n storedInput
	return &n, json.Unmarshal(text, &n)
}

func (r *run) storeInput(ctx context.Context, id string, n storedInput, event *protocol.Input) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	c := spool.Change{Notes: []spool.Note{{Kind: inputKind, Key: id, Data: text}}}
	if event != nil {
		c.Events = []spool.Event{{Type: protocol.RunInput, Data: *event}}
	}
	return r.commit(ctx, c)
}

// restoreInputs determines the states of the inputs that were being written when hostd was killed.
func (r *run) restoreInputs(ctx context.Context) error {
	all, err := r.m.o.Spool.Notes(ctx, r.id, inputKind)
	if err != nil {
		return err
	}
	for id, text := range all {
		var n storedInput
		if err := json.Unmarshal(text, &n); err != nil {
			return err
		}
		if n.State != "" {
			continue
		}
		state, _, err := r.client.InputState(ctx, id)
		if err != nil {
			return err
		}
		var why *approvals.Error
		if _, err := r.recordInput(ctx, id, n, state); err != nil && !errors.As(err, &why) {
			return err
		}
	}
	return nil
}
