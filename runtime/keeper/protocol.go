package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// hello is the first line of a connection, in JSON. There are two sorts: control, which has a line of
// JSON a message in both directions, and data, one for each process: towards the client goes
// what the host writes, as it is, towards the keeper frames.
type hello struct {
	Token string `json:"token"`
	Owner int64  `json:"owner"`
	ID    *ID    `json:"id,omitempty"`   // of a data connection
	From  int64  `json:"from,omitempty"` // the first line that is wanted; 0: the first that is not journaled
	Look  bool   `json:"look,omitempty"` // what there is is told, and nothing else done
}

// welcome answers it.
type welcome struct {
	Refused   string    `json:"refused,omitempty"`
	Fenced    bool      `json:"fenced,omitempty"`
	Processes []Process `json:"processes,omitempty"` // control: all
	Process   *Process  `json:"process,omitempty"`   // data: this one
	Behind    int64     `json:"behind,omitempty"`    // so many lines are before what is sent,
	Offset    int64     `json:"offset,omitempty"`    // with so many bytes
}

// request is a message on control. One with a number is answered.
type request struct {
	I       int64    `json:"i,omitempty"`
	Op      op       `json:"op"`
	ID      ID       `json:"id,omitzero"`
	Spec    *Spec    `json:"spec,omitempty"`
	Line    int64    `json:"line,omitempty"`
	After   uint64   `json:"after,omitempty"`
	GraceMS int64    `json:"grace_ms,omitempty"`
	Secrets []Secret `json:"secrets,omitempty"`
	// Of the commands that a process has had started: which, what it is, and the number of the request for it.
	Command string             `json:"command,omitempty"`
	Run     *terminalhost.Spec `json:"run,omitempty"`
	Number  int64              `json:"number,omitempty"`
}

// op is what is asked for.
type op string

const (
	opStart      op = "start"       // a process, unless it was started before
	opSaid       op = "said"        // how many bytes it has written by now, which becomes its mark
	opUntouched  op = "untouched"   // whether it has read nothing from the last beginning on
	opStderr     op = "stderr"      // the last of its standard error
	opAck        op = "ack"         // the lines up to this one are in the journal
	opCloseInput op = "close_input" // its input ends after a frame; 0: at once
	opEnd        op = "end"         // it is ended; answered when nothing is left of it
	opKill       op = "kill"        // likewise, at once
	opSecrets    op = "secrets"     // what is a secret
	opBye        op = "bye"         // all are ended, and the keeper ends

	// Of the commands that a process has had started:
	opOpen    op = "open"    // one is started, unless it was before
	opOutput  op = "output"  // what one has written
	opAwait   op = "await"   // how one has ended; answered when it has
	opStop    op = "stop"    // one is ended
	opRelease op = "release" // one is ended and forgotten
)

// reply is a message from the keeper: the answer to I, or an event.
type reply struct {
	I     int64    `json:"i,omitempty"`
	Error *refusal `json:"error,omitempty"`
	PID   int      `json:"pid,omitempty"`
	Bytes int64    `json:"bytes,omitempty"`
	Untouched    bool     `json:"is,omitempty"`
	Text  string   `json:"text,omitempty"`
	Event event    `json:"event,omitempty"`
	ID    ID       `json:"id,omitzero"`
	Exit  *Exit    `json:"exit,omitempty"`

	Output *terminalhost.Output `json:"output,omitempty"` // of a command
}

// Number returns the request's number.
func (s reply) Number() int64 { return s.I }

// Err returns the keeper's error.
func (s reply) Err() error {
	if s.Error != nil {
		return s.Error
	}
	return nil
}

// event is what a process did.
type event string

const (
	evStderr event = "stderr" // a line of its standard error, which is Text
	evOver   event = "over"   // its output has ended
	evExit   event = "exit"   // it has ended
	evUnread event = "unread" // one was sent away who left the answers of its bridge unread
)

// refusal is an error of the keeper's, so that the client can tell what it is.
type refusal struct {
	Text  string `json:"text"`
	Errno int    `json:"errno,omitempty"`
	None  bool   `json:"none,omitempty"` // it is capture.ErrNone
}

func refusalOf(err error) *refusal {
	if err == nil {
		return nil
	}
	r := &refusal{Text: err.Error(), None: errors.Is(err, terminalhost.ErrNone)}
	var no syscall.Errno
	if errors.As(err, &no) {
		r.Errno = int(no)
	}
	return r
}

func (r *refusal) Error() string { return r.Text }

// Unwrap gives the error by which errors.Is finds it.
func (r *refusal) Unwrap() error {
	switch {
	case r.None:
		return terminalhost.ErrNone
	case r.Errno != 0:
		return syscall.Errno(r.Errno)
	}
	return nil
}

// frame is what is said to a host at once: text goes to its input, sides over its bridge, note stays in the script.
// A frame is taken whole or not at all, and only when its number is the next.
type frame struct {
	Entry
	sides []Side
	text  []byte
}

// headLen is the length of a frame's head: kind, number, heard, and the lengths of note, sides and text.
const headLen = 1 + 8 + 8 + 4 + 4 + 8

// appendHead appends a frame's head, note and sides; size is the length of the text that follows.
func appendHead(dst []byte, e Entry, sides []Side, size int) []byte {
	beside := 0
	for _, x := range sides {
		beside += sideLen + len(x.Line)
	}
	dst = append(dst, byte(e.Kind))
	dst = binary.BigEndian.AppendUint64(dst, e.N)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Heard))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.Note)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(beside))
	dst = binary.BigEndian.AppendUint64(dst, uint64(size))
	dst = append(dst, e.Note...)
	for _, x := range sides {
		dst = x.append(dst)
	}
	return dst
}

var errBadFrame = errors.New("what is no frame")

// maxFrameText is how long a frame may be: longer, and its head is none.
const maxFrameText = 1 << 34

// readFrame reads a frame. One that does not come whole is io.ErrUnexpectedEOF.
func readFrame(r io.Reader) (f frame, err error) {
	var head [headLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	f.Kind, f.N, f.Heard = Kind(head[0]), binary.BigEndian.Uint64(head[1:]), int64(binary.BigEndian.Uint64(head[9:]))
	note, beside, text := uint64(binary.BigEndian.Uint32(head[17:])), uint64(binary.BigEndian.Uint32(head[21:])), binary.BigEndian.Uint64(head[25:])
	if f.Kind < KindSay || f.Kind > KindPinned || text > maxFrameText {
		return f, fmt.Errorf("%w begins with %d", errBadFrame, head[0])
	}
	body := make([]byte, note+beside+text)
	if _, err := io.ReadFull(r, body); err != nil {
		return f, io.ErrUnexpectedEOF
	}
	f.Note, f.text = body[:note:note], body[note+beside:]
	f.sides, err = readSides(body[note : note+beside])
	return f, err
}
