package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// Diff contains the changes of a workspace since its base.
type Diff struct {
	Base      string     `json:"base"`
	Files     []DiffFile `json:"files"` // sorted by path, bytewise
	Additions int64      `json:"additions"`
	Deletions int64      `json:"deletions"`
}

// DiffFile is a changed file. Status is added, modified, deleted, renamed, copied, typechange or
// submodule. Modes are those of git, such as "100644", or "" if the file does not exist on that
// side.
type DiffFile struct {
	Path      string  `json:"path"`
	OldPath   *string `json:"old_path"` // of a file that was renamed or copied
	Status    string  `json:"status"`
	OldMode   string  `json:"old_mode"`
	Mode      string  `json:"mode"`
	Binary    bool    `json:"binary"`
	LFS       bool    `json:"lfs"` // one side is a pointer of Git LFS
	Additions int64   `json:"additions"`
	Deletions int64   `json:"deletions"`
	Truncated bool    `json:"truncated"` // the hunks are left out
	Hunks     []Hunk  `json:"hunks"`

	inner bool // it is in a submodule
}

// Hunk is a part of a file with changed lines. Header is the text after the second @@.
type Hunk struct {
	File     string     `json:"file"`
	OldStart int64      `json:"old_start"`
	OldLines int64      `json:"old_lines"`
	NewStart int64      `json:"new_start"`
	NewLines int64      `json:"new_lines"`
	Header   string     `json:"header"`
	Lines    []HunkLine `json:"lines"`
}

// HunkLine is a line of a hunk. Kind is " ", "+" or "-". Old and New are line numbers, or nil on
// the side without the line. HasNewline is false for a last line without a line break.
type HunkLine struct {
	Kind       string `json:"kind"`
	Text       string `json:"text"`
	Old        *int64 `json:"old"`
	New        *int64 `json:"new"`
	HasNewline bool   `json:"has_newline"`
}

// maxHunks is the size of the hunks of a diff, in bytes of their lines. Files after that have none.
const maxHunks = 16 << 20

// diffFlags are the flags of each diff.
var diffFlags = []string{"--cached", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--find-copies", "--full-index", "--submodule=short", "--ignore-submodules=none"}

// Diff returns the changes since the base, committed or not, with new files and without ignored
// ones, also those in submodules. The index of the worktree does not change.
func (w *Workspace) Diff(ctx context.Context) (*Diff, error) {
	// Without --numstat, because git would compare the files twice.
	d, err := w.parseDiff(ctx, w.Base, "--raw", "--patch")
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(d.Files, func(f DiffFile) bool { return f.Truncated }) {
		counted, err := w.stat(ctx, w.Base)
		if err != nil {
			return nil, err
		}
		d.takeCounts(counted)
	}
	return d, w.nestedError(w.nested(d))
}

// takeCounts sets the numbers of lines of truncated files to those of another diff.
func (d *Diff) takeCounts(counted *Diff) {
	all := map[string]*DiffFile{}
	for i := range counted.Files {
		all[counted.Files[i].Path] = &counted.Files[i]
	}
	for i := range d.Files {
		f := &d.Files[i]
		if c := all[f.Path]; f.Truncated && c != nil { // another process may have changed the file since
			f.Binary = c.Binary
			d.count(f, c.Additions, c.Deletions)
		}
	}
}

// count adds changed lines to the numbers of a file and of the diff.
func (d *Diff) count(f *DiffFile, additions, deletions int64) {
	f.Additions += additions
	f.Deletions += deletions
	d.Additions += additions
	d.Deletions += deletions
}

// stat returns the changes since a commit, without hunks.
func (w *Workspace) stat(ctx context.Context, from string) (*Diff, error) {
	return w.parseDiff(ctx, from, "--raw", "--numstat")
}

// parseDiff returns the changes since a commit that git prints with the flags.
func (w *Workspace) parseDiff(ctx context.Context, from string, flags ...string) (*Diff, error) {
	d := &Diff{Base: from, Files: []DiffFile{}}
	room := maxHunks
	err := w.diff(ctx, from, flags, func(within string, out io.Reader) error { return d.read(within, out, &room) })
	slices.SortFunc(d.Files, func(a, b DiffFile) int { return strings.Compare(a.Path, b.Path) })
	return d, err
}

// Patch writes the changes since the base as a patch.
func (w *Workspace) Patch(ctx context.Context, to io.Writer) error {
	return w.diff(ctx, w.Base, []string{"--patch", "--binary"}, func(_ string, out io.Reader) error {
		_, err := io.Copy(to, out)
		return err
	})
}

// diff runs git diff between a commit and the files of the worktree, and then for each submodule.
// It passes the output to read, with the path of the submodule or "".
func (w *Workspace) diff(ctx context.Context, from string, flags []string, read func(within string, out io.Reader) error) error {
	at, err := w.place()
	if err != nil {
		return err
	}
	const doing = "compare the workspace with its base"
	if err := w.diffOne(ctx, at, "", from, flags, read); err != nil {
		return failure(err, w.Name, doing)
	}
	modules, err := w.modules(ctx)
	if err != nil {
		return err
	}
	bases := map[string]string{"": from} // by path
	for i := range modules {
		m := &modules[i]
		if !m.files {
			continue
		}
		base, err := submodules{w.store}.base(ctx, m, bases[m.within])
		if err == nil {
			bases[m.path] = base
			err = w.diffOne(ctx, m.at, m.path, base, flags, read)
		}
		if err != nil {
			return failure(err, w.Name, doing)
		}
	}
	return nil
}

// diffOne runs git diff for one repository of the worktree, whose path is within.
func (w *Workspace) diffOne(ctx context.Context, at git.Place, within, from string, flags []string, read func(within string, out io.Reader) error) error {
	at, remove, err := w.store.snapshot(ctx, at)
	if err != nil {
		return err
	}
	defer remove()
	prefix := path.Join(within, "x")
	prefix = prefix[:len(prefix)-1]
	args := slices.Concat([]string{"diff", "--src-prefix=a/" + prefix, "--dst-prefix=b/" + prefix}, diffFlags, flags, []string{from, "--"})
	return w.store.git.Stream(ctx, at, func(out io.Reader) error { return read(within, out) }, args...)
}

// indexPrefix is the beginning of the names of temporary indexes, before the number of the process.
const indexPrefix = ".index-"

// temporary creates a directory that is removed after this process has ended, if it does not do so.
func (s *Store) temporary() (string, error) {
	return os.MkdirTemp(s.place.Tasks(), indexPrefix+strconv.Itoa(os.Getpid())+"-")
}

// snapshot returns a place with a temporary index that contains the files of a worktree, or of a
// submodule.
func (s *Store) snapshot(ctx context.Context, at git.Place) (_ git.Place, remove func(), err error) {
	dir, err := s.temporary()
	if err != nil {
		return at, nil, fmt.Errorf("could not create a temporary index: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	index := filepath.Join(dir, "index")
	// The index contains the times of the files, so that only changed files are read. By its own
	// time, git finds those that may have changed after it was written.
	err = copyFile(filepath.Join(at.GitDir, "index"), index)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		remove()
		return at, nil, fmt.Errorf("could not copy the index: %w", err)
	}
	at.Index = index
	if _, err := s.git.Run(ctx, at, "add", "--all", "--", ":/"); err != nil {
		remove()
		return at, nil, err
	}
	return at, remove, nil
}

// copyFile copies a file with its time of modification.
func copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, text, 0o600), os.Chtimes(to, time.Time{}, info.ModTime()))
}

// nested returns the paths of the repositories in the worktree that are no submodules.
func (w *Workspace) nested(d *Diff) (paths []string) {
	for i := range d.Files {
		f := &d.Files[i]
		if f.Mode != modeSubmodule || f.OldMode == modeSubmodule || f.inner {
			continue
		}
		modules, err := os.ReadFile(filepath.Join(w.top, ".gitmodules"))
		if err != nil || !bytes.Contains(modules, []byte("path = "+f.Path+"\n")) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// nestedError returns the error for repositories in the worktree, or nil if there are none.
func (w *Workspace) nestedError(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	return errorf(Nested, w.Name, "the workspace %s contains a repository that is no submodule: %s", w.Name, paths[0]).hint("remove %s, or add it as a submodule", filepath.Join(paths[0], ".git"))
}

const (
	modeSubmodule = "160000"
	modeNone      = "000000"
)

// statuses maps git's letters to statuses.
var statuses = map[byte]string{'A': "added", 'M': "modified", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "typechange"}

// reader reads the output of git diff line by line.
type reader struct {
	in   *bufio.Reader
	line string // the current line without its line break
	ends bool   // there are no more lines
	err  error
}

func (r *reader) next() {
	text, err := r.in.ReadString('\n')
	if err != nil && text == "" {
		r.line, r.ends = "", true
		if !errors.Is(err, io.EOF) {
			r.err = err
		}
		return
	}
	r.line = strings.TrimSuffix(text, "\n")
}

// read adds the output of git diff with --raw, and --numstat or --patch, for the repository whose
// path is within. room is the size of further hunks in bytes.
func (d *Diff) read(within string, out io.Reader, room *int) error {
	r := &reader{in: bufio.NewReaderSize(out, 64<<10)}
	r.next()
	first := len(d.Files)
	for ; strings.HasPrefix(r.line, ":"); r.next() {
		f, err := readRaw(r.line)
		if err != nil {
			return err
		}
		if within != "" {
			f.Path, f.inner = path.Join(within, f.Path), true
			if f.OldPath != nil {
				*f.OldPath = path.Join(within, *f.OldPath)
			}
		}
		d.Files = append(d.Files, f)
	}
	added := d.Files[first:]
	for i := range added { // the lines of --numstat have the order of the files
		if r.ends || r.line == "" {
			break
		}
		plus, rest, _ := strings.Cut(r.line, "\t")
		minus, _, ok := strings.Cut(rest, "\t")
		if !ok {
			return fmt.Errorf("git diff printed %q", r.line)
		}
		f := &added[i]
		if f.Binary = plus == "-"; !f.Binary {
			d.count(f, number(plus), number(minus))
		}
		r.next()
	}
	if r.line == "" && !r.ends {
		r.next()
	}
	return d.readPatch(r, added, room)
}

// readPatch reads the patch of files after the lists of files.
func (d *Diff) readPatch(r *reader, files []DiffFile, room *int) error {
	for i := range files {
		f := &files[i]
		sections := 1
		if f.Status == "typechange" {
			sections = 2 // the file is removed and added
		}
		for ; sections > 0 && strings.HasPrefix(r.line, "diff --git "); sections-- {
			if *room <= 0 {
				for j := range files[i:] {
					files[i+j].Truncated, files[i+j].Hunks = true, []Hunk{}
				}
				return git.ErrEnough
			}
			r.next()
			for !r.ends && !strings.HasPrefix(r.line, "@@ ") && !strings.HasPrefix(r.line, "diff --git ") {
				f.Binary = f.Binary || strings.HasPrefix(r.line, "Binary files ")
				r.next()
			}
			for strings.HasPrefix(r.line, "@@ ") {
				h, size, err := r.readHunk(f.Path)
				if err != nil {
					return err
				}
				*room -= size
				for _, l := range h.Lines {
					switch l.Kind {
					case "+":
						d.count(f, 1, 0)
					case "-":
						d.count(f, 0, 1)
					}
				}
				f.Hunks = append(f.Hunks, h)
			}
		}
		f.detectPointer()
	}
	return r.err
}

// pointerLine is the first line of a pointer of Git LFS.
const pointerLine = "version https://git-lfs.github.com/spec/v1"

// detectPointer removes the hunks of a file that Git LFS stores.
func (f *DiffFile) detectPointer() {
	for i := range f.Hunks {
		for _, l := range f.Hunks[i].Lines {
			if l.Text == pointerLine && (l.Old != nil && *l.Old == 1 || l.New != nil && *l.New == 1) {
				f.LFS, f.Hunks = true, []Hunk{}
				return
			}
		}
	}
}

// readRaw reads a line of --raw: `:MODE MODE ID ID STATUS\tPATH[\tPATH]`.
func readRaw(line string) (DiffFile, error) {
	f := DiffFile{Hunks: []Hunk{}}
	head, names, _ := strings.Cut(line[1:], "\t")
	words := strings.Fields(head)
	if len(words) != 5 || words[4] == "" || statuses[words[4][0]] == "" {
		return f, fmt.Errorf("git diff printed %q", line)
	}
	f.OldMode, f.Mode, f.Status = strings.TrimPrefix(words[0], modeNone), strings.TrimPrefix(words[1], modeNone), statuses[words[4][0]]
	first, second, moved := strings.Cut(names, "\t")
	f.Path = text(unquote(first))
	if moved {
		old := f.Path
		f.OldPath, f.Path = &old, text(unquote(second))
	}
	if f.Mode == modeSubmodule || f.OldMode == modeSubmodule {
		f.Status = "submodule"
	}
	return f, nil
}

// text returns a text with U+FFFD instead of invalid bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// unquote returns a path that git has quoted as in C if it contains control characters, quotes or
// backslashes.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	out := make([]byte, 0, len(s))
	for s = s[1 : len(s)-1]; s != ""; {
		if s[0] != '\\' || len(s) < 2 {
			out, s = append(out, s[0]), s[1:]
			continue
		}
		if i := strings.IndexByte("abtnvfr", s[1]); i >= 0 {
			out, s = append(out, "\a\b\t\n\v\f\r"[i]), s[2:]
		} else if n, err := strconv.ParseUint(s[1:min(4, len(s))], 8, 8); err == nil && len(s) >= 4 {
			out, s = append(out, byte(n)), s[4:]
		} else {
			out, s = append(out, s[1]), s[2:]
		}
	}
	return string(out)
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // git prints numbers
	return n
}

// readHunk reads a hunk whose first line, `@@ -A,B +C,D @@ HEADER`, is the current line. size is
// the number of bytes of its lines.
func (r *reader) readHunk(file string) (h Hunk, size int, err error) {
	head, header, ok := strings.Cut(strings.TrimPrefix(r.line, "@@ -"), " @@")
	before, after, ok2 := strings.Cut(head, " +")
	if !ok || !ok2 {
		return h, 0, fmt.Errorf("git diff printed %q", r.line)
	}
	h = Hunk{File: file, Header: text(strings.TrimPrefix(header, " ")), Lines: []HunkLine{}}
	h.OldStart, h.OldLines = readRange(before)
	h.NewStart, h.NewLines = readRange(after)
	old, now := h.OldStart, h.NewStart
	oldLeft, newLeft := h.OldLines, h.NewLines
	for r.next(); !r.ends; r.next() {
		kind := " "
		if r.line != "" {
			kind = r.line[:1]
		}
		if kind == "\\" {
			if len(h.Lines) > 0 {
				h.Lines[len(h.Lines)-1].HasNewline = false
			}
			continue
		}
		if oldLeft == 0 && newLeft == 0 {
			break
		}
		l := HunkLine{Kind: kind, HasNewline: true}
		if r.line != "" {
			l.Text = text(r.line[1:])
		}
		size += len(r.line)
		if kind != "+" {
			n := old
			l.Old = &n
			old++
			oldLeft--
		}
		if kind != "-" {
			n := now
			l.New = &n
			now++
			newLeft--
		}
		h.Lines = append(h.Lines, l)
	}
	return h, size, r.err
}

// readRange reads START[,LINES].
func readRange(s string) (start, lines int64) {
	a, b, found := strings.Cut(s, ",")
	if !found {
		return number(a), 1
	}
	return number(a), number(b)
}
