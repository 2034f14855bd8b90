package pkg

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/tomlkeys"
)

// LockFile is the name of the lock file, next to the manifest.
const LockFile = "concerto.lock"

// lockFormat is the version of the lock file's form.
const lockFormat = 1

// maxLock is the maximum size of a lock file in bytes.
const maxLock = 16 << 20

// Lock is the content of concerto.lock: the selected packages of repositories.
type Lock struct{ Packages []*Locked }

// Locked is a package in the lock file.
type Locked struct {
	Git     string // address as the requirement nearest to the project writes it
	Dir     string
	Version string // without the directory; CommitVersion for a required commit
	Commit  string
	Hash    string
	Needs   []Need // what the package's manifest requires
	Uses    []Use

	address Address // Git, parsed
}

// Need is a requirement of a locked package.
type Need struct{ Key, Git, Dir, Version string }

func (n Need) String() string { return n.Key + " " + JoinDir(n.Git, n.Dir) + " " + n.Version }

// JoinDir returns an address with a directory in the repository: ADDRESS#DIR, or ADDRESS.
func JoinDir(address, dir string) string {
	if dir == "" {
		return address
	}
	return address + "#" + dir
}

// LockError is an error in the text of a lock file. Line is 0 if it concerns the whole file.
type LockError struct {
	Line          int
	Message, Hint string
}

func (e *LockError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s:%d: %s", LockFile, e.Line, e.Message)
}

const lockHint = "restore the file from version control, or write it again with `concerto update --lock`"

// ID returns the identity of the package.
func (p *Locked) ID() ID { return ID{p.address.Key, p.Dir} }

// Revision returns the version of the package, or its commit if that is required.
func (p *Locked) Revision() string {
	if p.Version == CommitVersion {
		return p.Commit
	}
	return p.Version
}

// Address returns the parsed address.
func (p *Locked) Address() Address { return p.address }

// Requirements returns the needs of the package as requirements.
func (p *Locked) Requirements() []Requirement {
	out := make([]Requirement, len(p.Needs))
	for i, n := range p.Needs {
		a, _ := ParseAddress(n.Git) // ParseLock and NewLocked have checked it
		v, _ := ParseVersion(n.Version)
		out[i] = Requirement{Key: n.Key, Git: a, Dir: n.Dir, Version: v}
	}
	return out
}

// NewLocked returns the entry of a package with its requirements.
func NewLocked(r Ref, commit, hash string, needs []Requirement, uses []Use) *Locked {
	return &Locked{Git: r.Git.Text, Dir: r.Dir, Version: r.Version, Commit: commit, Hash: hash, Needs: NeedsOf(needs), Uses: NormalizeUses(uses), address: r.Git}
}

// NeedsOf returns requirements as the lock file lists them.
func NeedsOf(all []Requirement) (out []Need) {
	for i := range all {
		q := &all[i]
		out = append(out, Need{q.Key, q.Git.Text, q.Dir, q.Version.Text})
	}
	slices.SortFunc(out, func(a, b Need) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// lockText is the form of the lock file for the decoder.
type lockText struct {
	Format  *int64 `toml:"format"`
	Package []struct {
		Git     string   `toml:"git"`
		Dir     string   `toml:"dir"`
		Version string   `toml:"version"`
		Commit  string   `toml:"commit"`
		Hash    string   `toml:"hash"`
		Needs   []string `toml:"needs"`
		Uses    []string `toml:"uses"`
	} `toml:"package"`
}

// ParseLock parses a lock file. Line breaks may be CRLF. The error is a *LockError.
func ParseLock(text []byte) (*Lock, error) {
	if len(text) > maxLock {
		return nil, &LockError{Message: LockFile + " is larger than 16 MiB", Hint: lockHint}
	}
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	var in lockText
	meta, err := tomlkeys.Decode(string(text), &in)
	if err != nil {
		return nil, decodeError(text, err)
	}
	switch {
	case in.Format == nil:
		return nil, &LockError{1, "`format` is missing", lockHint}
	case *in.Format > lockFormat:
		return nil, &LockError{lineOf(text, "format", 1), LockFile + " was written by a newer version", "install a newer version of concerto"}
	case *in.Format < 1:
		return nil, &LockError{lineOf(text, "format", 1), "`format` must be " + strconv.Itoa(lockFormat), lockHint}
	}
	for _, key := range meta.Undecoded() {
		name := key[len(key)-1]
		return nil, &LockError{lineOf(text, name, 1), fmt.Sprintf("unknown key `%s`", name), lockHint}
	}
	l := &Lock{}
	seen := map[string]bool{}
	for i, x := range in.Package {
		p := &Locked{Git: x.Git, Dir: x.Dir, Version: x.Version, Commit: x.Commit, Hash: x.Hash}
		at := func(key string) int { return lineOf(text, key, i+1) }
		bad := func(key, format string, args ...any) (*Lock, error) {
			line := at(key)
			if line == 0 {
				line = lineOf(text, "[[package]]", i+1)
			}
			return nil, &LockError{line, fmt.Sprintf(format, args...), lockHint}
		}
		if p.address, err = ParseAddress(x.Git); err != nil {
			return bad("git", "%v", err)
		}
		if reason := CheckDir(x.Dir); reason != "" {
			return bad("dir", "`dir` is not valid: %s", reason)
		}
		if _, ok := ParseVersion(x.Version); !ok && x.Version != CommitVersion {
			return bad("version", "`version` must be vN.N.N or `commit`")
		}
		if !IsCommit(x.Commit) {
			return bad("commit", "`commit` must be 40 or 64 hexadecimal digits")
		}
		if x.Hash == "" {
			return bad("hash", "`hash` is missing")
		}
		for _, text := range x.Needs {
			n, ok := parseNeed(text)
			if !ok {
				return bad("needs", "`needs` contains %q, which is not `KEY ADDRESS VERSION`", text)
			}
			p.Needs = append(p.Needs, n)
		}
		for _, text := range x.Uses {
			u, ok := ParseUse(text)
			if !ok {
				return bad("uses", "`uses` contains the unknown use %q", text)
			}
			p.Uses = append(p.Uses, u)
		}
		r := p.Ref("")
		if seen[r.line()] {
			return bad("git", "the package is listed twice")
		}
		seen[r.line()] = true
		l.Packages = append(l.Packages, p)
	}
	return l, nil
}

// Ref returns the package under a key.
func (p *Locked) Ref(key string) Ref {
	r := Ref{Git: p.address, Dir: p.Dir, Version: p.Version, Key: key}
	if p.Version == CommitVersion {
		r.Commit = p.Commit
	}
	return r
}

// decodeError returns the error for a text that is not TOML, or has a value of a wrong type.
func decodeError(text []byte, err error) error {
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
			if bytes.HasPrefix(line, []byte(mark)) {
				return &LockError{i + 1, "the file contains a merge conflict", "resolve the conflict in Concerto.toml, then run `concerto update --lock`"}
			}
		}
	}
	if p, ok := errors.AsType[tomlkeys.ParseError](err); ok {
		return &LockError{p.Position.Line, p.Message, lockHint}
	}
	return &LockError{1, err.Error(), lockHint}
}

// lineOf returns the number of the line on which a key is set for the nth time, or 0.
func lineOf(text []byte, key string, nth int) int {
	for i, line := range bytes.Split(text, []byte("\n")) {
		rest, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte(key))
		if !found || len(bytes.TrimSpace(rest)) > 0 && bytes.TrimSpace(rest)[0] != '=' {
			continue
		}
		if nth--; nth == 0 {
			return i + 1
		}
	}
	return 0
}

func parseNeed(text string) (n Need, ok bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 || parts[0] == "" {
		return n, false
	}
	n.Key, n.Version = parts[0], parts[2]
	n.Git, n.Dir, _ = strings.Cut(parts[1], "#")
	_, err := ParseAddress(n.Git)
	_, isVersion := ParseVersion(n.Version)
	return n, err == nil && isVersion && CheckDir(n.Dir) == ""
}

// Encode returns the text of the lock file in its canonical form.
func (l *Lock) Encode() []byte {
	all := slices.Clone(l.Packages)
	slices.SortFunc(all, func(a, b *Locked) int {
		return cmp.Or(strings.Compare(a.Git, b.Git), strings.Compare(a.Dir, b.Dir), strings.Compare(a.Version, b.Version))
	})
	var b strings.Builder
	b.WriteString("# Written by concerto. Commit it; do not edit it.\nformat = " + strconv.Itoa(lockFormat) + "\n")
	for _, p := range all {
		b.WriteString("\n[[package]]\n")
		for _, f := range []struct{ name, value string }{{"git", p.Git}, {"dir", p.Dir}, {"version", p.Version}, {"commit", p.Commit}, {"hash", p.Hash}} {
			if f.name != "dir" || f.value != "" {
				b.WriteString(f.name + " = " + QuoteTOML(f.value) + "\n")
			}
		}
		needs := make([]string, len(p.Needs))
		for i, n := range p.Needs {
			needs[i] = n.String()
		}
		slices.Sort(needs)
		writeList(&b, "needs", needs)
		writeList(&b, "uses", NormalizeUses(p.Uses))
	}
	return []byte(b.String())
}

func writeList[S ~string](b *strings.Builder, name string, all []S) {
	b.WriteString(name + " = [")
	for i, s := range all {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("    " + QuoteTOML(string(s)) + ",\n")
	}
	b.WriteString("]\n")
}

// QuoteTOML returns a text as a basic string of TOML (https://toml.io/en/v1.0.0#string).
func QuoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
