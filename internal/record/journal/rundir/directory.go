// Package rundir stores runs in directories (spec/journal.md).
package rundir

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// LedgerFile is the name of the file with the ledger of decisions.
const LedgerFile = "ledger.ndjson"

// The names of other files and directories in a run's directory.
const (
	blobs    = "blobs"
	answers  = "answers"
	lockName = "lock"
	stopName = "stop"
	nextName = "continued" // its successor was created
)

// SegmentBytes is the default of Directory.SegmentBytes. Tests change it.
var SegmentBytes int64 = 16 << 20

// Directory is the directory of a run.
type Directory struct {
	disk  disk.Disk
	files disk.Files
	path  string
	// SegmentBytes is the size of a file of the journal after which the next file begins; 0 means
	// the variable SegmentBytes.
	SegmentBytes int64
}

// At returns the directory at a path. It need not exist.
func At(path string) *Directory { return On(nil, path) }

// On returns the directory at a path of a disk.
func On(d disk.Disk, path string) *Directory {
	return &Directory{disk: d, files: d.At(path), path: path}
}

// Name returns the path of the directory.
func (d *Directory) Name() string { return d.path }

// Sibling returns the run in the directory with a name beside this one.
func (d *Directory) Sibling(name string) journal.Run {
	return On(d.disk, filepath.Join(filepath.Dir(d.path), name))
}

// NoteSuccessor notes that the successor of the run was created.
func (d *Directory) NoteSuccessor() error {
	if err := d.files.Make(nextName, nil); !errors.Is(err, fs.ErrExist) {
		return newUnusable(err, true)
	}
	return nil
}

// HadSuccessor reports whether the successor of the run was created.
func (d *Directory) HadSuccessor() bool {
	_, err := d.files.Read(nextName)
	return err == nil
}

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

// lock acquires the lock of the directory for this process.
func (d *Directory) lock() (unlock func() error, err error) {
	unlock, err = d.files.Lock(lockName, func() int {
		if held := d.Holder(); held.Machine == "" {
			return held.PID
		}
		return 0
	})
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, d.Holder()
	}
	if err != nil {
		return nil, err
	}
	machine, _ := os.Hostname() // used only in messages
	if err := d.noteHolder(fmt.Sprintf("%d %s\n", os.Getpid(), machine)); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// noteHolder writes the process that holds the lock into the lock file.
func (d *Directory) noteHolder(text string) error {
	f, err := d.files.Open(lockName, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// Holder returns the process that the lock file names. It does not check whether the file is
// locked.
func (d *Directory) Holder() *journal.HeldError {
	text, _ := d.files.Read(lockName) // if the file cannot be read, the result is empty
	pid, machine, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, _ := strconv.Atoi(pid)
	if here, _ := os.Hostname(); machine == here {
		machine = ""
	}
	return &journal.HeldError{PID: n, Machine: machine}
}

// IsRunning reports whether a process is running the run.
func (d *Directory) IsRunning() (bool, error) {
	return d.files.IsLocked(lockName)
}

// Create creates the directory of a new run with its program in the form of IR. A directory in
// which no run has begun counts as empty. The error is a *journal.ExistsError, a *NotEmptyError, a
// *journal.HeldError, an *UnusableError, or an error of the files.
func (d *Directory) Create(start journal.Start, program []byte, o journal.Options) (journal.Writer, error) {
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

// prepare removes the rest of a run that had not begun from the directory, and creates its
// subdirectories.
func (d *Directory) prepare() error {
	switch h, err := d.Read(); {
	case err == nil:
		return &journal.ExistsError{Run: h.Start().Run}
	case !errors.Is(err, journal.ErrNoRun):
		if newer := (*journal.NewerFormatError)(nil); errors.As(err, &newer) || errors.Is(err, journal.ErrDropped) || d.begun() {
			return err
		}
	}
	if err := d.foreignFile(); err != nil {
		return err
	}
	for _, name := range []string{journal.SegmentName(1), journal.OutFile, LedgerFile} {
		if err := d.files.Remove(name); err != nil {
			return err
		}
	}
	for _, dir := range []string{blobs, answers, "tmp"} {
		if err := d.files.Dir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (d *Directory) create(start journal.Start, program []byte, o journal.Options) (*writer, error) {
	if err := d.prepare(); err != nil {
		return nil, err
	}
	if err := d.files.Put(journal.ProgramFile, program); err != nil {
		return nil, err
	}
	start.Format = journal.Format
	w, err := d.writer(nil, o)
	if err != nil {
		return nil, err
	}
	w.Append(&journal.Record{RecordKind: journal.KStart, Start: &start, Owner: o.Owner.Numbered(1)})
	if err := errors.Join(w.Flush(journal.Synced), d.files.SyncDir(".")); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Begun reports whether the directory contains a run, possibly a damaged one.
func (d *Directory) Begun() bool {
	if _, err := d.files.Read(headName); err == nil {
		return true
	}
	_, err := d.files.Read(journal.SegmentName(1))
	return err == nil
}

// begun reports whether the first file of the journal contains a complete line.
func (d *Directory) begun() bool {
	text, err := d.files.Read(journal.SegmentName(1))
	return err == nil && strings.Contains(string(text), "\n")
}

// foreignFile returns a *NotEmptyError if the directory contains a file that does not belong to a
// run.
func (d *Directory) foreignFile() error {
	names, err := d.files.List(".")
	if err != nil {
		return err
	}
	ours := []string{journal.ProgramFile, journal.OutFile, LedgerFile, blobs, answers, lockName, stopName, "tmp", "hosts", "keeper.json", journal.SegmentName(1)}
	for _, name := range names {
		if !slices.Contains(ours, name) && !strings.HasPrefix(name, disk.TemporaryPrefix) {
			return &NotEmptyError{name}
		}
	}
	return nil
}

// Open opens a run to resume it; see journal.Run. It removes incomplete records at the end;
// History.Torn is their size. The error may also be an *UnusableError.
func (d *Directory) Open(h *journal.History, o journal.Options) (journal.Writer, *journal.History, error) {
	if h == nil { // read before locking, so that no lock file is created without a run
		var err error
		if _, err = d.files.List("."); err == nil {
			h, err = d.Read()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	unlock, err := d.lock()
	if held, ok := errors.AsType[*journal.HeldError](err); ok {
		held.Run = h.Start().Run
	}
	if err != nil {
		return nil, nil, newUnusable(err, true)
	}
	w, h, err := d.open(h, o)
	if err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	w.unlock = unlock
	return w, h, nil
}

// open opens a locked run.
func (d *Directory) open(h *journal.History, o journal.Options) (w *writer, _ *journal.History, err error) {
	if !d.isUnchanged(h) {
		if h, err = d.Read(); err != nil {
			return nil, nil, err
		}
	}
	if err := d.dropConsumed(h); err != nil {
		return nil, nil, newUnusable(err, true)
	}
	if w, err = d.writer(h, o); err != nil {
		return nil, nil, newUnusable(err, true)
	}
	w.consumed.unsynced.Store(true) // the process before may have removed answers
	return w, h, nil
}

// dropConsumed removes the answers that the journal contains already. The process that wrote the
// records was killed before it removed them, or the power failed before the removal was synced.
func (d *Directory) dropConsumed(h *journal.History) error {
	all, err := d.Answers()
	if err != nil {
		return err
	}
	for id, a := range all {
		if journal.IsConsumed(h, id, a) {
			if err := d.DropAnswer(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// isUnchanged reports whether no record was appended since the journal was read.
func (d *Directory) isUnchanged(h *journal.History) bool {
	last := h.Segments[len(h.Segments)-1]
	f, size, err := d.files.Append(journal.SegmentName(last.N))
	if err != nil || f.Close() != nil || size != last.Size+int64(h.Torn) {
		return false
	}
	names, err := d.files.List(".")
	return err == nil && !slices.Contains(names, journal.SegmentName(last.N+1))
}

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
		return nil, &journal.DamagedError{Where: name, Why: "the file is missing"}
	}
	if err != nil {
		return nil, err
	}
	if hexsum.SHA256(text) != sum {
		return nil, &journal.DamagedError{Where: name, Why: mismatch}
	}
	return text, nil
}

// Out returns the complete lines of the output without newlines. torn is the number of bytes after
// the last newline, which belong to an incomplete line of an interrupted run.
func (d *Directory) Out() (lines []string, torn int, err error) {
	text, err := d.files.Read(journal.OutFile)
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

// PutAnswer stores an answer for the run. If there is already an answer, it is not replaced, and
// the error is a *journal.AnsweredError.
func (d *Directory) PutAnswer(id string, a journal.Answer) error {
	a.At = cmp.Or(a.At, time.Now().UnixMilli())
	text, err := journal.Seal(a)
	if err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	if err := d.files.Dir(answers); err != nil {
		return newUnusable(err, true)
	}
	err = d.files.Make(journal.AnswerName(id), text)
	if errors.Is(err, fs.ErrExist) {
		if first, err := d.Answer(id); err == nil && first != nil {
			return &journal.AnsweredError{By: first.By, At: first.At}
		}
		return &journal.AnsweredError{}
	}
	return newUnusable(err, true)
}

// Answer returns the stored answer to a question, or nil.
func (d *Directory) Answer(id string) (*journal.Answer, error) {
	text, err := d.files.Read(journal.AnswerName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := readAnswer(text)
	if err != nil {
		return nil, &journal.DamagedError{Where: journal.AnswerName(id), Why: err.Error(), Next: "remove the file and answer again"}
	}
	return a, nil
}

// readAnswer parses an answer and verifies its checksum. Answers of older versions have no
// checksum.
func readAnswer(text []byte) (*journal.Answer, error) {
	var a journal.Answer
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the answer")
	}
	if a.Sum == "" && !journal.IsSealed(text) {
		return &a, nil
	}
	return &a, journal.CheckSeal(text)
}

// Answers returns all stored answers by the ids of their questions.
func (d *Directory) Answers() (map[string]*journal.Answer, error) {
	names, err := d.files.List(answers)
	if err != nil {
		return nil, err
	}
	all := map[string]*journal.Answer{}
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
			all[id] = a
		}
	}
	return all, nil
}

// DropAnswer removes a stored answer.
func (d *Directory) DropAnswer(id string) error { return d.files.Remove(journal.AnswerName(id)) }

// removeTemporaries removes the temporary files of processes that were killed. It is called when
// the run ends, because then no other process has a reason to write into the directory.
func (d *Directory) removeTemporaries() {
	for _, dir := range []string{".", blobs, answers} {
		names, _ := d.files.List(dir) // only tidies up: an error is not one of the run
		for _, name := range names {
			if strings.HasPrefix(name, disk.TemporaryPrefix) {
				_ = d.files.Remove(path.Join(dir, name)) // see above
			}
		}
	}
}

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

// watchInterval is the interval at which Watch reports a possible change. Other processes create
// files, and not every file system reports that.
const watchInterval = 100 * time.Millisecond

// Watch calls changed at an interval; see journal.Run.
func (d *Directory) Watch(ctx context.Context, changed func()) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			changed()
		}
	}
}

// IsPending reports whether a run is stored and has not ended, or may not have ended. dir is its
// directory; "" means that it is below root, unless that is "".
func IsPending(root, run, dir string) bool {
	if dir == "" && root == "" {
		return false
	}
	d := At(cmp.Or(dir, filepath.Join(root, run)))
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	h, err := d.Read()
	if err != nil {
		return true
	}
	return h.Start().Run == run && h.Last().RecordKind != journal.KFinish
}
