// Package programcache stores compiled programs in a directory of the user, so that a command does
// not compile an unchanged program again. An entry lists what the compiler has read, and is valid
// while all of it is unchanged. The directory may be removed at any time. A damaged entry and a
// directory that cannot be written cause no error: the program is then compiled.
package programcache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/ir"
)

// Limits of the directory.
const (
	maxEntry   = 32 << 20            // bytes of an entry
	maxTotal   = 200 << 20           // bytes of all entries
	maxUnused  = 30 * 24 * time.Hour // since an entry was used
	usedWithin = 24 * time.Hour      // the time of use is written at most so often
)

// Program is an entry: a compiled program.
type Program struct {
	Reads    []driver.Read `json:"reads"` // what the compiler has read
	Root     string        `json:"root"`
	Entry    string        `json:"entry"`              // path of the entry file as the user sees it
	Manifest string        `json:"manifest,omitempty"` // the same of the manifest; "" without one
	Found    Findings      `json:"found"`              // warnings
	IR       []byte        `json:"-"`                  // encoded
	Evals    []ir.Eval     `json:"evals,omitempty"`    // which IR does not contain
	Guard    *ir.Guard     `json:"guard,omitempty"`    // the same

	// ManifestText is the text of the manifest, if there is one. Load reads it.
	ManifestText []byte `json:"-"`
	// ManifestPath is the absolute path of the manifest.
	ManifestPath string `json:"manifest_path,omitempty"`
}

// header is the first part of an entry.
type header struct {
	Key string `json:"key"` // the entry's own, so that a renamed file is noticed
	Program
}

// Use is what the compiler does with a program.
type Use string

// The uses.
const (
	Build Use = "build"
	Check Use = "check" // the entry has no code
)

// Key returns the key of a request's program, and false if the program is not cached because its
// sources are not files, because its functions are tools, or because no directory is set.
func Key(r driver.Request, use Use) (string, bool) {
	if r.Programs == "" || r.Overlay != nil || r.Sources != nil || r.Previous != nil || r.Called || r.Packages.Lock != nil {
		return "", false
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return "", false
	}
	id := executable()
	if id == "" {
		return "", false
	}
	packages, _ := r.Packages.Cache.Dir() // without a cache of packages, a program that needs one is not compiled
	inline := driver.Inline{}
	if r.Inline != nil {
		if r.Inline.File != nil {
			return "", false
		}
		inline = *r.Inline
	}
	text, err := json.Marshal([]any{id, use, r.Data != nil, dir, r.Path, r.Inline != nil, inline.Name, inline.Text, inline.Body, inline.Alone,
		r.Tests, r.Evals, r.Parsed, r.Plain, r.Mock, r.AnyParty, r.DenyWarnings, packages})
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), true
}

// executable identifies this build of the program that compiles: another one may compile
// differently. It is "" if that is not known.
var executable = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	// The linker writes the build's hash close to the beginning.
	if _, err := io.CopyN(sum, f, 64<<10); err != nil && err != io.EOF {
		return ""
	}
	text, err := json.Marshal([]any{driver.Release, info.Size(), info.ModTime().UnixNano(), hex.EncodeToString(sum.Sum(nil))})
	if err != nil {
		return ""
	}
	return string(text)
})

// Load returns the program with a key, if there is one and everything from which it was compiled is
// unchanged.
func Load(dir, key string) (*Program, bool) {
	path := filepath.Join(dir, key)
	text, err := userfile.Read(path, maxEntry)
	if err != nil {
		return nil, false
	}
	p, ok := decode(text, key)
	if !ok {
		return nil, false
	}
	for _, r := range p.Reads {
		text, same := r.Holds()
		if !same {
			return nil, false
		}
		if p.Manifest != "" && r.Path == p.ManifestPath && text != nil {
			p.ManifestText = text
		}
	}
	if p.Manifest != "" && p.ManifestText == nil {
		return nil, false
	}
	if info, err := os.Stat(path); err == nil {
		if now := time.Now(); now.Sub(info.ModTime()) > usedWithin {
			_ = os.Chtimes(path, now, now) // the entry is only removed earlier
		}
	}
	return p, true
}

// decode reads an entry: its hash, its header, and the code, each on a line.
func decode(text []byte, key string) (*Program, bool) {
	sum, rest, ok := bytes.Cut(text, []byte("\n"))
	if !ok || string(sum) != checksum(rest) {
		return nil, false
	}
	head, code, ok := bytes.Cut(rest, []byte("\n"))
	var h header
	if !ok || json.Unmarshal(head, &h) != nil || h.Key != key {
		return nil, false
	}
	h.IR = code
	return &h.Program, true
}

func encode(key string, p *Program) ([]byte, error) {
	head, err := json.Marshal(header{key, *p})
	if err != nil {
		return nil, err
	}
	rest := slices.Concat(head, []byte("\n"), p.IR)
	return slices.Concat([]byte(checksum(rest)+"\n"), rest), nil
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return "concerto program 1 " + hex.EncodeToString(sum[:])
}

// Store writes an entry.
func Store(dir, key string, p *Program) {
	text, err := encode(key, p)
	if err != nil || len(text) > maxEntry || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Close()); err == nil { // a crash leaves a damaged entry, which is noticed
		err = os.Rename(f.Name(), filepath.Join(dir, key))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is removed when it is old
		return
	}
	tidy(dir, time.Now())
}

// tidy removes entries that were not used for long, and the longest unused ones if all are too
// large.
func tidy(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var entriesLeft []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if now.Sub(info.ModTime()) > maxUnused {
			_ = os.Remove(filepath.Join(dir, e.Name()))
			continue
		}
		entriesLeft, total = append(entriesLeft, info), total+info.Size()
	}
	if total <= maxTotal {
		return
	}
	slices.SortFunc(entriesLeft, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range entriesLeft {
		if total <= maxTotal {
			return
		}
		if os.Remove(filepath.Join(dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
}
