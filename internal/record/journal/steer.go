package journal

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Messages to the hosts of a run, and the run's replies to the senders, are stored as answers
// under ids of their own. Each store therefore stores, transfers and removes them like answers.

// SteerRequest is a message of another process to a running host. Its sender is Answer.By.
type SteerRequest struct {
	Host      string `json:"host,omitempty"`      // "" for any
	Workspace string `json:"workspace,omitempty"` // "" for any
	Text      string `json:"text,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"`
}

// SteerReply is the run's reply to a SteerRequest.
type SteerReply struct {
	Host    string        `json:"host,omitempty"`
	Outcome string        `json:"outcome,omitempty"` // how the host has received the message; "" if it has not
	Error   string        `json:"error,omitempty"`   // reason why the host cannot receive the message
	Running []SteeredHost `json:"running,omitempty"` // if not one host matches: those that match, or if none does, all
	Matches int           `json:"matches,omitempty"` // number of hosts that match
}

// SteeredHost is a host that works on an exchange.
type SteeredHost struct {
	Host      string `json:"host"`
	Workspace string `json:"workspace,omitempty"`
}

const (
	steerPrefix = "steer-"
	replySuffix = "-reply"
)

// NewSteerID returns a new id for a message.
func NewSteerID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return steerPrefix + hex.EncodeToString(b[:])
}

// IsSteerID reports whether an answer is a message to a host, and not a reply to one.
func IsSteerID(id string) bool {
	return strings.HasPrefix(id, steerPrefix) && !strings.HasSuffix(id, replySuffix)
}

// IsAboutSteering reports whether an answer is a message to a host or a reply to one, and not an
// answer to a question.
func IsAboutSteering(id string) bool { return strings.HasPrefix(id, steerPrefix) }

// PutSteer stores a message to a running host of a run. by is its sender.
func PutSteer(r Run, id string, s SteerRequest, by string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write a message to a host: %w", err)
	}
	return r.PutAnswer(id, Answer{Value: text, By: by})
}

// Steers returns the stored messages of other processes, by id.
func Steers(r Run) (map[string]*Answer, error) {
	all, err := r.Answers()
	for id := range all {
		if !IsSteerID(id) {
			delete(all, id)
		}
	}
	return all, err
}

// PutSteerReply stores the reply to the message with an id, unless there is one.
func PutSteerReply(r Run, id string, s *SteerReply) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write a reply: %w", err)
	}
	err = r.PutAnswer(id+replySuffix, Answer{Value: text, By: "run"})
	if _, answered := err.(*AnsweredError); answered {
		return nil
	}
	return err
}

// TakeSteerReply removes and returns the reply to the message with an id, or nil if there is none.
func TakeSteerReply(r Run, id string) (*SteerReply, error) {
	a, err := r.Answer(id + replySuffix)
	if a == nil || err != nil {
		return nil, err
	}
	s := &SteerReply{}
	if err := json.Unmarshal(a.Value, s); err != nil {
		return nil, &DamagedError{Where: AnswerName(id + replySuffix), Why: err.Error(), Next: "remove the file"}
	}
	return s, r.DropAnswer(id + replySuffix)
}
