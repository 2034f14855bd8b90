package driver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Read is a question of the compiler to the file system, and the answer. A program is the same as
// before if each question has the same answer.
type Read struct {
	Kind   ReadKind `json:"kind"`
	Path   string   `json:"path"` // absolute
	Answer string   `json:"answer"`
}

// ReadKind is the kind of a question.
type ReadKind string

// The kinds of questions.
const (
	readText    ReadKind = "text"    // what the file contains: a hash, or "" if it cannot be read
	readFile    ReadKind = "file"    // whether it is a file: "yes" or ""
	readAny     ReadKind = "any"     // whether it exists: "yes" or ""
	readNames   ReadKind = "names"   // which names the directory has: a hash, or "" if it cannot be read
	readPackage ReadKind = "package" // what the files below the directory contain: a hash, or "" if they cannot be read
)

// IsOfFile reports whether the question is about one file, which the compiler has announced with
// Request.Seen.
func (r Read) IsOfFile() bool { return r.Kind != readNames && r.Kind != readPackage }

// Holds reports whether the question has the same answer now. text is the content of a file, which
// Holds has read.
func (r Read) Holds() (text []byte, ok bool) {
	answer := ""
	switch r.Kind {
	case readText:
		var err error
		if text, err = userfile.Read(r.Path, userfile.MaxText); err == nil {
			answer = hashOf(text)
		}
	case readFile:
		answer = yes(isFile(r.Path))
	case readAny:
		answer = yes(isAny(r.Path))
	case readNames:
		if entries, err := os.ReadDir(r.Path); err == nil {
			answer = hashOfNames(entries)
		}
	case readPackage:
		answer = packageHash(r.Path)
	default:
		return nil, false
	}
	return text, answer == r.Answer
}

// readLog contains the questions of a compilation and their answers. The nil log records nothing.
type readLog struct {
	mu  sync.Mutex
	all map[Read]bool
}

func (l *readLog) add(kind ReadKind, path, answer string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[Read]bool{}
	}
	l.all[Read{kind, path, answer}] = true
}

// Reads returns what the compiler has asked the file system so far, if the request had Programs.
func (in *Input) Reads() []Read {
	if in.reads == nil {
		return nil
	}
	in.reads.mu.Lock()
	defer in.reads.mu.Unlock()
	var out []Read
	for r := range in.reads.all {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Read) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Answer, b.Answer))
	})
	return out
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func hashOfNames(entries []os.DirEntry) string {
	sum := sha256.New()
	for _, e := range entries {
		_, _ = io.WriteString(sum, e.Name()+"\x00") // a hash accepts everything
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func isAny(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
