package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// hello is the first line of a connection, in JSON. On a control connection, each line in both
// directions is a JSON message. A data connection belongs to one process: the keeper sends the
// output of the process and receives frames.
type hello struct {
	Token string `json:"token"`
	Owner int64  `json:"owner"`
	ID    *ID    `json:"id,omitempty"` // of a data connection
	// first line to send; 0 means the first line that is not journaled
	From int64 `json:"from,omitempty"`
	Look bool  `json:"look,omitempty"` // only return the list of processes
	// the client can read the output of the process itself
	Direct bool `json:"direct,omitempty"`
}

// welcome is the keeper's answer to hello.
type welcome struct {
	Refused     string    `json:"refused,omitempty"`
	Fenced      bool      `json:"fenced,omitempty"`
	Processes   []Process `json:"processes,omitempty"` // control: all
	Process     *Process  `json:"process,omitempty"`   // data: this one
	LinesBefore int64     `json:"behind,omitempty"`    // lines before the output that is sent
	Offset      int64     `json:"offset,omitempty"`    // bytes before it
	// The client receives the output up to Process.Bytes over the connection, and then reads it
	// itself. The message contains the files of the loan.
	Lent  bool       `json:"lent,omitempty"`
	files []*os.File // of the loan
}

// request is a message of the client on the control connection. A request with a number is
// answered.
type request struct {
	I       int64    `json:"i,omitempty"`
	Op      op       `json:"op"`
	ID      ID       `json:"id,omitzero"`
	Spec    *Spec    `json:"spec,omitempty"`
	Line    int64    `json:"line,omitempty"`
	After   uint64   `json:"after,omitempty"`
	GraceMS int64    `json:"grace_ms,omitempty"`
	Secrets []Secret `json:"secrets,omitempty"`
	// for terminals: the ID, the command, and the number of the request that opened the terminal
	Command string             `json:"command,omitempty"`
	Run     *terminalhost.Spec `json:"run,omitempty"`
	Number  int64              `json:"number,omitempty"`
}

// op is the operation of a request.
type op string

const (
	opStart      op = "start"       // start a process unless it was started before
	opWritten    op = "said"        // return and store the number of bytes written
	opUntouched  op = "untouched"   // report whether nothing was read since the last beginning
	opStderr     op = "stderr"      // return the last lines of standard error
	opAck        op = "ack"         // the lines up to this one are journaled
	opCloseInput op = "close_input" // close the input after a frame, or immediately if 0
	opEnd        op = "end"         // end the process; answered when it and its children have exited
	opKill       op = "kill"        // the same without grace
	opSecrets    op = "secrets"     // add secrets
	opStore      op = "store"       // write all output to the files, because the client disconnects
	opReclaim    op = "reclaim"     // the client no longer reads the output of the process itself
	opBye        op = "bye"         // end all processes and the keeper

	// operations on terminals
	opOpen    op = "open"    // start one unless it was started before
	opOutput  op = "output"  // return the output
	opAwait   op = "await"   // return how it exited; answered when it has
	opStop    op = "stop"    // end it
	opRelease op = "release" // end and forget it
)

// reply is a message of the keeper: the answer to request I, or an event.
type reply struct {
	I         int64    `json:"i,omitempty"`
	Error     *refusal `json:"error,omitempty"`
	PID       int      `json:"pid,omitempty"`
	Bytes     int64    `json:"bytes,omitempty"`
	Untouched bool     `json:"is,omitempty"`
	Text      string   `json:"text,omitempty"`
	Event     event    `json:"event,omitempty"`
	ID        ID       `json:"id,omitzero"`
	Exit      *Exit    `json:"exit,omitempty"`

	Output *terminalhost.Output `json:"output,omitempty"` // of a terminal
}

func (s reply) Number() int64 { return s.I }

func (s reply) Err() error {
	if s.Error != nil {
		return s.Error
	}
	return nil
}

// event is the kind of an event that the keeper sends.
type event string

const (
	evStderr event = "stderr" // a line of standard error, in Text
	evOver   event = "over"   // the output has ended
	evExit   event = "exit"   // the process has exited
	evUnread event = "unread" // the bridge closed a client that did not read its answers
)

// refusal is an error in a reply.
type refusal struct {
	Text  string `json:"text"`
	Errno int    `json:"errno,omitempty"`
	None  bool   `json:"none,omitempty"` // the error is terminalhost.ErrNone
	// the error is a *sandbox.Error
	Sandbox bool `json:"sandbox,omitempty"`
}

func refusalOf(err error) *refusal {
	if err == nil {
		return nil
	}
	r := &refusal{Text: err.Error(), None: errors.Is(err, terminalhost.ErrNone)}
	_, r.Sandbox = errors.AsType[*sandbox.Error](err)
	var no syscall.Errno
	if errors.As(err, &no) {
		r.Errno = int(no)
	}
	return r
}

func (r *refusal) Error() string { return r.Text }

// Unwrap returns the error of this package that the refusal represents.
func (r *refusal) Unwrap() error {
	switch {
	case r.None:
		return terminalhost.ErrNone
	case r.Sandbox:
		return &sandbox.Error{Text: r.Text}
	case r.Errno != 0:
		return syscall.Errno(r.Errno)
	}
	return nil
}

// frame is a unit of a host's input. Its text is written to the input of the process, its sides are
// sent to clients of the bridge, and its note is added to the script. A frame is accepted
// completely or not at all, and only if its number follows that of the previous frame.
type frame struct {
	Entry
	sides []Side
	text  []byte
}

// headLen is the length of a frame's header in bytes: kind, number, last line, and the lengths of
// note, sides and text.
const headLen = 1 + 8 + 8 + 4 + 4 + 8

// appendHead appends the header, the note and the sides of a frame. size is the length of the text
// that follows.
func appendHead(dst []byte, e Entry, sides []Side, size int) []byte {
	beside := 0
	for _, x := range sides {
		beside += sideLen + len(x.Line)
	}
	dst = append(dst, byte(e.Kind))
	dst = binary.BigEndian.AppendUint64(dst, e.N)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.LastLine))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.Note)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(beside))
	dst = binary.BigEndian.AppendUint64(dst, uint64(size))
	dst = append(dst, e.Note...)
	for _, x := range sides {
		dst = x.appendTo(dst)
	}
	return dst
}

var errBadFrame = errors.New("invalid frame")

// maxFrameText is the maximum length of a frame's text in bytes.
const maxFrameText = 1 << 34

// readFrame reads a frame. It returns io.ErrUnexpectedEOF for an incomplete frame.
func readFrame(r io.Reader) (f frame, err error) {
	var head [headLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	f.Kind, f.N, f.LastLine = Kind(head[0]), binary.BigEndian.Uint64(head[1:]), int64(binary.BigEndian.Uint64(head[9:]))
	note, beside, text := uint64(binary.BigEndian.Uint32(head[17:])), uint64(binary.BigEndian.Uint32(head[21:])), binary.BigEndian.Uint64(head[25:])
	if f.Kind < KindSent || f.Kind > KindPinned || text > maxFrameText {
		return f, fmt.Errorf("%w: it begins with %d", errBadFrame, head[0])
	}
	body := make([]byte, note+beside+text)
	if _, err := io.ReadFull(r, body); err != nil {
		return f, io.ErrUnexpectedEOF
	}
	f.Note, f.text = body[:note:note], body[note+beside:]
	f.sides, err = readSides(body[note : note+beside])
	return f, err
}
