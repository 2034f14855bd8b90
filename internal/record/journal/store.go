package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// The names of the parts of a run. Messages use them for every store. A directory stores each part
// in a file of this name.
const (
	ProgramFile = "program.conc-ir" // the first program; records of the kind adopt name the others
	OutFile     = "out.ndjson"
)

// SegmentName returns the name of the nth file of a journal.
func SegmentName(n int) string { return fmt.Sprintf("journal-%06d.ndjson", n) }

// AnswerName returns the name of the answer to a question.
func AnswerName(id string) string { return "answers/" + id + ".json" }

// Run is one run in a store. Every process may read it, answer its questions and request its stop.
// Only its owner has a Writer. The methods are safe for concurrent use.
//
// Readers receive a group of records, which one Flush has written, completely or not at all, and
// receive every group whose Flush has returned. Only in a directory, the exit of a process may
// divide its last group.
type Run interface {
	// Name returns the name by which commands refer to the run: the path of its directory, or its
	// id.
	Name() string

	// Sibling returns the run of the same store with a name: the name of a directory beside this
	// one, or an id.
	Sibling(name string) Run
	// NoteSuccessor notes that a process has created the successor of the run, and HadSuccessor
	// reports that: a successor that is missing was then removed, and is not created again.
	NoteSuccessor() error
	HadSuccessor() bool

	// Create stores a new run with its program in the form of IR, and becomes its owner. The error
	// is an *ExistsError, a *HeldError, or an error of the store.
	Create(start Start, program []byte, o Options) (Writer, error)
	// Open becomes the owner of the run, to resume it. h is the run's history if it was read
	// before, otherwise nil. Open returns h, or the history read again if records were appended
	// since. No write of an earlier owner succeeds afterwards. The error is a
	// *HeldError, a *DamagedError, a *NewerFormatError, ErrNoRun, or an error of the store.
	Open(h *History, o Options) (Writer, *History, error)
	// IsRunning reports whether the run has an owner.
	IsRunning() (bool, error)

	// Read reads and verifies the journal. The run may be in progress.
	Read() (*History, error)
	// ReadUndamaged is like Read, but if the journal is damaged, it returns the records before the
	// damage.
	ReadUndamaged() (*History, error)

	// Program returns a program of the run in the form of IR. sum is its SHA-256 in hex. The error
	// is a *DamagedError if the program is missing or has another hash.
	Program(name, sum string) ([]byte, error)
	// Blob returns a large value by its SHA-256 in hex. The errors are those of Program.
	Blob(sum string) ([]byte, error)
	// Out returns the complete lines of the output without newlines. torn is the number of bytes of
	// an incomplete line after them, which only a directory can have.
	Out() (lines []string, torn int, err error)

	// PutAnswer stores an answer durably. If there is already an answer, it is not replaced, and
	// the error is an *AnsweredError.
	PutAnswer(id string, a Answer) error
	// Answer returns the stored answer to a question, or nil. The error is a *DamagedError, or an
	// error of the store.
	Answer(id string) (*Answer, error)
	// Answers returns all stored answers by the ids of their questions. The errors are those of
	// Answer.
	Answers() (map[string]*Answer, error)
	// DropAnswer removes an answer, which the run will not read.
	DropAnswer(id string) error

	// RequestStop requests the owner of the run to stop it.
	RequestStop() error
	// IsStopRequested reports whether a process has requested that the run stops.
	IsStopRequested() bool

	// Watch calls changed when an answer or a request to stop may have been stored. It returns when
	// the context ends. Calls are not concurrent.
	Watch(ctx context.Context, changed func())
}

// Writer is the right of one owner to append to a run. Append must be called by one goroutine. The
// other methods may be called by any goroutine.
//
// Append, Out and ConsumeAnswer only buffer. Flush writes everything that was buffered as one
// group. If another process has become the owner of the run, every write returns ErrFenced. After
// any other error, everything that was not written stays in the buffer, and the caller may call
// Flush again; the store contains each record and each line once, even if the outcome of the first
// attempt is unknown.
type Writer interface {
	// Append adds a record and returns its number. It sets the members S, T, Y and H.
	Append(r *Record) uint64
	// Out adds a line to the run's output.
	Out(line string)
	// ConsumeAnswer removes the stored answer to a question. It must be called after Append of the
	// record that contains the answer, so that the answer is removed after the record is synced, or
	// together with it. It is removed when a later Flush with the level Synced returns nil.
	ConsumeAnswer(id string)
	// Flush writes the buffer. The error ErrFull means that the journal would exceed
	// Options.MaxBytes.
	Flush(level Level) error

	// At returns the position after the last appended record, and the size of the journal up to
	// there in bytes.
	At() (at From, bytes int64)
	// Time returns the current time in Unix milliseconds, or the time of the last record if that is
	// later.
	Time() int64
	// Synced returns the number of the last synced record.
	Synced() uint64
	// SyncLater starts a sync of the written records in the background.
	SyncLater()

	// PutProgram stores another program of the run. A record of the kind adopt names it.
	PutProgram(name string, program []byte) error

	// Close ends the ownership of the run. It does not flush.
	Close() error
}

// Question is a question that waits for an answer.
type Question struct {
	ID      string          `json:"id"`
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload"`
	Type    string          `json:"type"`   // expected type in the form of the language
	Schema  json.RawMessage `json:"schema"` // JSON schema of the expected type; nil for any value
	Since   int64           `json:"since"`  // Unix milliseconds
}

// QuestionWriter is a Writer that stores the open questions of a run beside its journal, so that
// they can be listed and answered without reading the journal.
type QuestionWriter interface {
	// Ask adds an open question with the next group. It changes nothing if the question is stored.
	Ask(q Question)
	// EndQuestion removes a question with the next group.
	EndQuestion(id string)
}

// Pinner is a Writer of a store that several machines share.
type Pinner interface {
	// Pin makes the run, with the next group, stay on this machine, unless it is pinned already. by
	// names what is on the machine, such as "host claude".
	Pin(by string)
}

// LedgerWriter is a Writer that stores the ledger of decisions with the journal. Lines have no
// newlines.
type LedgerWriter interface {
	// Ledger returns the lines of the ledger, including those in the buffer.
	Ledger() ([]string, error)
	// AppendLedger adds a line with the next group.
	AppendLedger(line string)
	// TruncateLedger removes all lines after the first n, with the next group.
	TruncateLedger(n int)
}

// OutTruncater is a Writer whose output may contain lines that the journal does not account for,
// because the output is written separately.
type OutTruncater interface {
	// TruncateOut removes all lines of output after the first n. No line may be buffered.
	TruncateOut(n int) error
}

// EndPreparer is a Writer whose records may reach the disk before what they rely on. A run that has
// ended is not resumed, so nothing would restore its last lines, or remove its answers again.
type EndPreparer interface {
	// PrepareEnd writes and syncs everything that was added. It is called before the record of the
	// end is appended.
	PrepareEnd() error
}

// Options configures a Writer.
type Options struct {
	Sync  string       // one of the Sync constants; "" means SyncOutput
	Now   func() int64 // returns Unix milliseconds; nil means the system clock
	Owner Owner        // process that runs the run; its N is ignored
	// MaxBytes limits the size of the journal; 0 means no limit.
	MaxBytes int64
}

// The times at which records are synced: before anything is sent (output), also before the program
// receives a result (every), or only at the end (never).
const (
	SyncOutput = "output"
	SyncEvery  = "every"
	SyncNever  = "never"
)

// Level is the durability that records must have.
type Level uint8

// The levels of durability.
const (
	Written Level = iota // records survive the exit of the process
	Synced               // records survive a power failure
)

// Answer is an answer to a pending question, written by another process.
type Answer struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Refuse *string         `json:"refuse,omitempty"`
	By     string          `json:"by"`
	At     int64           `json:"at"` // Unix milliseconds; PutAnswer replaces 0 by the store's current time
	// Synced is the number of the last record that was on the disk when the answer was written.
	Synced uint64 `json:"synced,omitempty"`
	// Seen is the number of the last record that the answering process had read; 0 if unknown.
	Seen uint64 `json:"seen,omitempty"`
	Sum  string `json:"sum,omitempty"`
}

// IsAnswered reports whether there is a stored answer to a question of a run.
func IsAnswered(r Run, id string) bool {
	a, err := r.Answer(id)
	return err == nil && a != nil
}

// AnsweredError means that a question already has an answer. By and At describe that answer; they
// are zero if it cannot be read.
type AnsweredError struct {
	By string
	At int64 // Unix milliseconds
}

func (e *AnsweredError) Error() string { return "the question is already answered" }

// HeldError means that another process is running the run.
type HeldError struct {
	Run     string // id of the run; "" if it is unknown
	PID     int    // id of the process; 0 if it is unknown
	Machine string // machine of the process; "" for this machine
}

func (e *HeldError) Error() string {
	switch {
	case e.PID == 0:
		return "is being run by another process"
	case e.Machine != "":
		return fmt.Sprintf("is being run by process %d on %s", e.PID, e.Machine)
	}
	return fmt.Sprintf("is being run by process %d", e.PID)
}

// ExistsError means that the store already contains the run that should be created, or that the
// directory for the run contains another one.
type ExistsError struct{ Run string }

func (e *ExistsError) Error() string { return "it holds a run" }

// ErrFull means that the journal has reached its maximum size.
var ErrFull = errors.New("the journal has reached max_journal_mb")

// ErrFenced means that another process has become the owner of the run. It is final: no later write
// of the Writer succeeds.
var ErrFenced = errors.New("another process has become the owner of the run")
