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

// The names of files and directories in a run's directory.
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

// At returns the directory at a path. It need not exist.
func At(path string) *Directory { return &Directory{disk(path), path} }

// On returns a directory that is accessed through files.
func On(files Files) *Directory { return &Directory{files, files.Path(".")} }

// Path returns the path of the directory.
func (d *Directory) Path() string { return d.path }

// HeldError means that another process is running the run.
type HeldError struct {
	Run     string // id of the run; "" if it is unknown
	PID     int    // id of the process; 0 if it is unknown
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

// ContainsRunError means that the directory for a new run already contains a run.
type ContainsRunError struct{ Run string }

func (e *ContainsRunError) Error() string { return "it holds a run" }

// NotEmptyError means that the directory for a new run contains a file that does not belong to a
// run.
type NotEmptyError struct{ Name string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("the directory is not empty: there is %s in it", e.Name)
}

// UnusableError means that a directory cannot be written.
type UnusableError struct {
	Err  error
	Runs bool // the directory contains a run, which was not changed
}

func (e *UnusableError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the file operation.
func (e *UnusableError) Unwrap() error { return e.Err }

// Full reports whether the cause is a full or broken disk.
func (e *UnusableError) Full() bool { return IsFull(e.Err) }

// IsFull reports whether an error means that a disk is full or broken. A denied access is not such
// an error.
func IsFull(err error) bool {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// newUnusable wraps an error of a file operation in an *UnusableError. Other errors are returned
// unchanged.
func newUnusable(err error, runs bool) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return &UnusableError{err, runs}
	}
	return err
}

// freed limits how long lock waits for the lock of a process that was killed. If that process was
// starting another one, the lock is held until the exec of the new process.
const freed = 2 * time.Second

// lock acquires the lock of the directory for this process.
func (d *Directory) lock() (unlock func() error, err error) {
	path := d.files.Path(lockName)
	machine, _ := os.Hostname() // used only in messages
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

// Holder returns the process that the lock file names. It does not check whether the file is
// locked.
func (d *Directory) Holder() *HeldError {
	text, _ := d.files.Read(lockName) // if the file cannot be read, the result is empty
	pid, machine, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, _ := strconv.Atoi(pid)
	return &HeldError{PID: n, Machine: machine}
}

// Running reports whether a process is running the run.
func (d *Directory) Running() (bool, error) {
	return lockfile.Held(d.files.Path(lockName))
}

// Create creates the directory of a new run with its program in the form of IR. A directory in
// which no run has begun counts as empty. The error is a *ContainsRunError, a *HeldError, an
// *UnusableError, or an error of the files.
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

// Begun reports whether the directory contains a run, possibly a damaged one.
func (d *Directory) Begun() bool {
	if _, err := d.files.Read(headName); err == nil {
		return true
	}
	_, err := d.files.Read(SegmentName(1))
	return err == nil
}

// begun reports whether the first file of the journal contains a complete line or was dropped.
func (d *Directory) begun() bool {
	if _, err := d.files.Read(headName); err == nil {
		return true
	}
	text, err := d.files.Read(SegmentName(1))
	return err == nil && strings.Contains(string(text), "\n")
}

// foreignFile returns a *NotEmptyError if the directory contains a file that does not belong to a
// run.
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

// Open opens a run to resume it. It removes incomplete records at the end; History.Torn is their
// size. The error is a *HeldError, a *DamagedError, a *NewerFormatError, an *UnusableError,
// ErrNoRun, or an error of the files.
func (d *Directory) Open(o Options) (*Writer, *History, error) {
	if _, err := d.files.List("."); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrNoRun
	}
	h, err := d.Read() // read before locking, so that no lock file is created without a run
	if err != nil {
		return nil, nil, err
	}
	return d.Reopen(h, o)
}

// Reopen is like Open for a run whose journal was read before. If the journal has changed since,
// Reopen reads it again from the same position.
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
	if err := d.removeDropped(h.Head); err != nil { // completes the drop of a process that exited in between
		return nil, nil, errors.Join(newUnusable(err, true), unlock())
	}
	w, err := d.writer(h, o)
	if err != nil {
		return nil, nil, errors.Join(newUnusable(err, true), unlock())
	}
	w.unlock = unlock
	return w, h, nil
}

// isUnchanged reports whether no record was appended since the journal was read.
func (d *Directory) isUnchanged(h *History) bool {
	f, size, err := d.files.Append(SegmentName(h.Segment))
	if err != nil || f.Close() != nil || size != h.Size+int64(h.Torn) {
		return false
	}
	names, err := d.files.List(".")
	return err == nil && !slices.Contains(names, SegmentName(h.Segment+1))
}

// Read reads and verifies the journal of a run, which may be in progress.
func (d *Directory) Read() (*History, error) { return read(d.files, From{}) }

// ReadFrom is like Read, but returns only the records after a position. The error is ErrOtherRecord
// if the journal contains a different record at this position.
func (d *Directory) ReadFrom(from From) (*History, error) { return read(d.files, from) }

// PutProgram stores another program of the run in a file, atomically.
func (d *Directory) PutProgram(name string, program []byte) error { return d.files.Put(name, program) }

// Program returns the IR of a program of the run from a file. sum is its SHA-256 in hex.
func (d *Directory) Program(name, sum string) ([]byte, error) {
	return d.readWithSum(name, sum, "it is not the program that the journal names")
}

// Blob returns a large value by its SHA-256 in hex.
func (d *Directory) Blob(sum string) ([]byte, error) {
	return d.readWithSum(blobs+"/"+filepath.Base(sum), sum, "its content does not match its name")
}

// readWithSum reads a file and checks its SHA-256. The error contains the text mismatch if the sum
// differs.
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

// Out returns the complete lines of the output without newlines. torn is the number of bytes after
// the last newline, which belong to an incomplete line of an interrupted run.
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

// Answer is an answer to a pending question, written by another process.
type Answer struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Refuse *string         `json:"refuse,omitempty"`
	By     string          `json:"by"`
	At     int64           `json:"at"` // Unix milliseconds
	// Synced is the number of the last record that was on the disk when the answer was written.
	Synced uint64 `json:"synced,omitempty"`
	Sum    string `json:"sum,omitempty"`
}

// answerName returns the name of the file with the answer to a question.
func answerName(id string) string { return answers + "/" + id + ".json" }

// PutAnswer stores an answer for the run. If there is already an answer, it is not replaced, and
// the error wraps fs.ErrExist.
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

// readAnswer parses an answer and verifies its checksum. Answers of older versions have no
// checksum.
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

// Answers returns all stored answers by file name. The error is a *DamagedError, or an error of
// reading the files.
func (d *Directory) Answers() (map[string]*Answer, error) {
	names, err := d.files.List(answers)
	if err != nil {
		return nil, err
	}
	all := map[string]*Answer{}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue // skip temporary files
		}
		a, err := d.Answer(id)
		if err != nil {
			return nil, err
		}
		if a != nil { // nil if the run has removed the answer in the meantime
			all[answerName(id)] = a
		}
	}
	return all, nil
}

// IsAnswered reports whether there is a stored answer to a question.
func (d *Directory) IsAnswered(id string) bool {
	a, err := d.Answer(id)
	return err == nil && a != nil
}

// DropAnswer removes a stored answer, which the journal contains by now.
func (d *Directory) DropAnswer(id string) error { return d.files.Remove(answerName(id)) }

// stopName is the name of the file by which another process requests that the run stops.
const stopName = "stop"

// RequestStop requests the process that runs the run to stop it.
func (d *Directory) RequestStop() error {
	err := d.files.Make(stopName, nil)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return newUnusable(err, true)
}

// IsStopRequested reports whether another process has requested that the run stops.
func (d *Directory) IsStopRequested() bool {
	_, err := d.files.Read(stopName)
	return err == nil
}
