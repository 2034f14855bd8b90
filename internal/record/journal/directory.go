package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Names in a run's directory.
const (
	ProgramFile = "program.conc-ir"
	OutFile     = "out.ndjson"
	LedgerFile  = "ledger.ndjson"
	blobs       = "blobs"
	answers     = "answers"
	lockName    = "lock"
)

// Directory is the directory of a run.
type Directory struct {
	files Files
	path  string
}

// At returns the directory at a path, which need not exist.
func At(path string) *Directory { return &Directory{disk(path), path} }

// On returns a directory whose files are accessed through files.
func On(files Files) *Directory { return &Directory{files, files.Path(".")} }

// Path returns the path of the directory.
func (d *Directory) Path() string { return d.path }

// HeldError means that another process is running the run.
type HeldError struct {
	Run     string // id of the run, or ""
	PID     int    // 0 if unknown
	Machine string
}

func (e *HeldError) Error() string {
	switch here, _ := os.Hostname(); {
	case e.PID == 0:
		return "is being run by another process"
	case e.Machine != "" && e.Machine != here:
		return fmt.Sprintf("is being run by process %d on %s", e.PID, e.Machine)
	}
	return fmt.Sprintf("is being run by process %d", e.PID)
}

// ContainsRunError means that a directory for a new run contains a run.
type ContainsRunError struct{ Run string }

func (e *ContainsRunError) Error() string { return "it holds a run" }

// NotEmptyError means that a directory for a new run contains other files.
type NotEmptyError struct{ Name string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("the directory is not empty: there is %s in it", e.Name)
}

// UnusableError means that a directory cannot be written.
type UnusableError struct {
	Err  error
	Runs bool // it contains a run, which is not changed
}

func (e *UnusableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnusableError) Unwrap() error { return e.Err }

// Full reports whether the disk is full or broken.
func (e *UnusableError) Full() bool { return IsFull(e.Err) }

// IsFull reports whether an error means that the disk is full or broken, rather than that access is
// denied.
func IsFull(err error) bool {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// newUnusable converts an error of a file to an *UnusableError.
func newUnusable(err error, runs bool) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return &UnusableError{err, runs}
	}
	return err
}

// freed limits the wait for the lock of a killed process: a process that it was just starting holds
// its files until the exec.
const freed = 2 * time.Second

// lock locks the directory for this process.
func (d *Directory) lock() (unlock func() error, err error) {
	path := d.files.Path(lockName)
	machine, _ := os.Hostname() // only for messages
	unlock, err = lockfile.Lock(path)
	for end := time.Now().Add(freed); errors.Is(err, lockfile.ErrHeld) && time.Now().Before(end); unlock, err = lockfile.Lock(path) {
		if held := d.Holder(); held.Machine != machine || !lockfile.IsDead(held.PID) {
			break
		}
		time.Sleep(freed / 400)
	}
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, d.Holder()
	}
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d %s\n", os.Getpid(), machine), 0o600); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// Holder returns the process in the lock file, without checking the lock.
func (d *Directory) Holder() *HeldError {
	text, _ := d.files.Read(lockName) // if it cannot be read, nothing is known
	pid, machine, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, _ := strconv.Atoi(pid)
	return &HeldError{PID: n, Machine: machine}
}

// Running reports whether a process is running the run.
func (d *Directory) Running() (bool, error) {
	return lockfile.Held(d.files.Path(lockName))
}

// Create creates the directory of a new run; program is the IR. A directory in which no run has
// begun counts as empty. The error is a *ContainsRunError, a *HeldError, an *UnusableError, or one
// of the files.
func (d *Directory) Create(start Start, program []byte, o Options) (*Writer, error) {
	if err := d.files.Dir("."); err != nil {
		return nil, newUnusable(err, false)
	}
	unlock, err := d.lock()
	if err != nil {
		return nil, newUnusable(err, false)
	}
	w, err := d.create(start, program, o)
	if err != nil {
		return nil, errors.Join(newUnusable(err, false), unlock())
	}
	w.unlock = unlock
	return w, nil
}

func (d *Directory) create(start Start, program []byte, o Options) (*Writer, error) {
	switch h, err := read(d.files, From{}); {
	case err == nil:
		return nil, &ContainsRunError{h.Start().Run}
	case !errors.Is(err, ErrNoRun):
		if newer := (*NewerFormatError)(nil); errors.As(err, &newer) || d.begun() {
			return nil, err
		}
	}
	if err := d.foreignFile(); err != nil {
		return nil, err
	}
	for _, name := range []string{SegmentName(1), OutFile, LedgerFile} {
		if err := d.files.Remove(name); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{blobs, answers, "tmp"} {
		if err := d.files.Dir(dir); err != nil {
			return nil, err
		}
	}
	if err := d.files.Put(ProgramFile, program); err != nil {
		return nil, err
	}
	start.Format = Format
	w, err := d.writer(&History{Segment: 1}, o)
	if err != nil {
		return nil, err
	}
	w.Append(&Record{K: KStart, Start: &start, Owner: o.Owner.Numbered(1)})
	if err := w.Flush(Synced); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, d.files.SyncDir(".")
}

// Begun reports whether the directory contains a run, even a damaged one.
func (d *Directory) Begun() bool {
	if _, err := d.files.Read(headName); err == nil {
		return true
	}
	_, err := d.files.Read(SegmentName(1))
	return err == nil
}

// begun reports whether the first file of a journal has a complete line, or was dropped.
func (d *Directory) begun() bool {
	if _, err := d.files.Read(headName); err == nil {
		return true
	}
	text, err := d.files.Read(SegmentName(1))
	return err == nil && strings.Contains(string(text), "\n")
}

// foreignFile returns the name of a file that does not belong to a run, or "".
func (d *Directory) foreignFile() error {
	names, err := d.files.List(".")
	if err != nil {
		return err
	}
	ours := []string{ProgramFile, OutFile, LedgerFile, blobs, answers, lockName, stopName, "tmp", "hosts", "keeper.json", SegmentName(1)}
	for _, name := range names {
		if !slices.Contains(ours, name) && !strings.HasPrefix(name, ".new-") {
			return &NotEmptyError{name}
		}
	}
	return nil
}

// Open opens a run to resume it. It cuts off incomplete records; the history contains their size.
// The error is a *HeldError, a *DamagedError, a *NewerFormatError, an *UnusableError, ErrNoRun, or
// one of the files.
func (d *Directory) Open(o Options) (*Writer, *History, error) {
	if _, err := d.files.List("."); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrNoRun
	}
	h, err := d.Read() // before creating a lock file where there is no run
	if err != nil {
		return nil, nil, err
	}
	return d.Reopen(h, o)
}

// Reopen is like Open for a run whose journal was read. It is read again, from the same place, if
// it has grown since.
func (d *Directory) Reopen(h *History, o Options) (*Writer, *History, error) {
	unlock, err := d.lock()
	if held, ok := errors.AsType[*HeldError](err); ok {
		held.Run = h.Start().Run
	}
	if err != nil {
		return nil, nil, newUnusable(err, true)
	}
	if !d.isUnchanged(h) {
		if h, err = read(d.files, h.from); err != nil {
			return nil, nil, errors.Join(err, unlock())
		}
	}
	if err := d.removeDropped(h.Head); err != nil { // of a process that exited while dropping
		return nil, nil, errors.Join(newUnusable(err, true), unlock())
	}
	w, err := d.writer(h, o)
	if err != nil {
		return nil, nil, errors.Join(newUnusable(err, true), unlock())
	}
	w.unlock = unlock
	return w, h, nil
}

// isUnchanged reports whether the journal is unchanged since it was read. Records are only
// appended.
func (d *Directory) isUnchanged(h *History) bool {
	f, size, err := d.files.Append(SegmentName(h.Segment))
	if err != nil || f.Close() != nil || size != h.Size+int64(h.Torn) {
		return false
	}
	names, err := d.files.List(".")
	return err == nil && !slices.Contains(names, SegmentName(h.Segment+1))
}

// Read reads and verifies a run's journal, even while the run is running.
func (d *Directory) Read() (*History, error) { return read(d.files, From{}) }

// ReadFrom is like Read, but returns the records after a place; those before it use no memory. The
// error is ErrOtherRecord if the journal has another record there.
func (d *Directory) ReadFrom(from From) (*History, error) { return read(d.files, from) }

// PutProgram stores another program of the run under a name, atomically.
func (d *Directory) PutProgram(name string, program []byte) error { return d.files.Put(name, program) }

// Program returns the IR of the run, or of an adopted program.
func (d *Directory) Program(name, sum string) ([]byte, error) {
	return d.readWithSum(name, sum, "it is not the program that the journal names")
}

// Blob returns a large value.
func (d *Directory) Blob(sum string) ([]byte, error) {
	return d.readWithSum(blobs+"/"+filepath.Base(sum), sum, "its content does not match its name")
}

// readWithSum reads a file that must exist with the given sum. another is the text of the error for
// a different sum.
func (d *Directory) readWithSum(name, sum, mismatch string) ([]byte, error) {
	text, err := d.files.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamagedError{Where: name, Why: "the file is missing"}
	}
	if err != nil {
		return nil, err
	}
	if hexsum.SHA256(text) != sum {
		return nil, &DamagedError{Where: name, Why: mismatch}
	}
	return text, nil
}

// Out returns the complete lines of a run's output, without their ends, and the number of bytes
// after the last one: an incomplete line that was being written when the run was interrupted.
func (d *Directory) Out() (lines []string, torn int, err error) {
	text, err := d.files.Read(OutFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	lines = strings.Split(string(text), "\n")
	last := len(lines) - 1
	return lines[:last], len(lines[last]), nil
}

// Answer is an answer that another process has given to a pending question.
type Answer struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Refuse *string         `json:"refuse,omitempty"`
	By     string          `json:"by"`
	At     int64           `json:"at"` // Unix milliseconds
	// Synced is the last record known to be on the disk when the answer was given.
	Synced uint64 `json:"synced,omitempty"`
	Sum    string `json:"sum,omitempty"`
}

// answerName returns the file name of the answer to a question.
func answerName(id string) string { return answers + "/" + id + ".json" }

// PutAnswer stores an answer for the run. The first answer wins: the error wraps fs.ErrExist if
// there is one.
func (d *Directory) PutAnswer(id string, a Answer) error {
	text, err := seal(a)
	if err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	if err := d.files.Dir(answers); err != nil {
		return newUnusable(err, true)
	}
	return newUnusable(d.files.Make(answerName(id), text), true)
}

// Answer returns the stored answer to a question, or nil.
func (d *Directory) Answer(id string) (*Answer, error) {
	text, err := d.files.Read(answerName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := readAnswer(text)
	if err != nil {
		return nil, &DamagedError{Where: answerName(id), Why: err.Error(), Next: "remove the file and answer again"}
	}
	return a, nil
}

// readAnswer parses an answer. Older versions wrote no checksum.
func readAnswer(text []byte) (*Answer, error) {
	var a Answer
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the answer")
	}
	if a.Sum == "" && !bytes.Contains(text, sumMember) {
		return &a, nil
	}
	return &a, checkSeal(text)
}

// Answers returns all stored answers by file name. The error is a *DamagedError, or one of the
// files.
func (d *Directory) Answers() (map[string]*Answer, error) {
	names, err := d.files.List(answers)
	if err != nil {
		return nil, err
	}
	all := map[string]*Answer{}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue // a temporary file
		}
		a, err := d.Answer(id)
		if err != nil {
			return nil, err
		}
		if a != nil { // nil if the run has taken it in the meantime
			all[answerName(id)] = a
		}
	}
	return all, nil
}

// IsAnswered reports whether a stored answer to a question exists.
func (d *Directory) IsAnswered(id string) bool {
	a, err := d.Answer(id)
	return err == nil && a != nil
}

// DropAnswer removes a stored answer that is in the journal.
func (d *Directory) DropAnswer(id string) error { return d.files.Remove(answerName(id)) }

// stopName is the file by which another process requests the end of the run.
const stopName = "stop"

// RequestStop requests the process that runs the run to end it.
func (d *Directory) RequestStop() error {
	err := d.files.Make(stopName, nil)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return newUnusable(err, true)
}

// IsStopRequested reports whether the end of the run was requested.
func (d *Directory) IsStopRequested() bool {
	_, err := d.files.Read(stopName)
	return err == nil
}
