// Package simgit is a model of git for tests: a program that does what the installed git does for
// the calls of merges. Objects and refs are maps, with the ids that git computes; worktrees are
// directories. A power cut loses what git does not sync.
package simgit

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// Repository is a repository without submodules and with files only in its top directory, and a
// remote of it. It is safe for concurrent use.
type Repository struct {
	top string

	mu      sync.Mutex
	now     state
	durable state    // what would remain after a power cut
	pending []change // which may remain, in order
}

// state contains objects and refs. Refs of the remote begin with remotePrefix.
type state struct{ objects, refs map[string]string }

const remotePrefix = "remote:"

// change sets an object or a ref; value is "" for a ref that is removed.
type change struct{ name, value string }

// New returns a model of an empty repository in a directory, whose checkout is on the branch work.
func New(top string) (*Repository, error) {
	empty := func() state { return state{map[string]string{}, map[string]string{}} }
	return &Repository{top: top, now: empty(), durable: empty()}, os.MkdirAll(filepath.Join(top, ".git"), 0o755)
}

// Pending returns the number of changes that a power cut may undo.
func (r *Repository) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}

// Cut cuts the power. The first n changes of those that were not synced remain.
func (r *Repository) Cut(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.pending[:n] {
		r.durable.set(c)
	}
	r.now, r.pending = state{maps.Clone(r.durable.objects), maps.Clone(r.durable.refs)}, nil
}

func (s *state) set(c change) {
	switch {
	case !strings.Contains(c.name, "/"):
		s.objects[c.name] = c.value
	case c.value == "":
		delete(s.refs, c.name)
	default:
		s.refs[c.name] = c.value
	}
}

// call is a call of the program.
type call struct {
	*Repository
	*git.Call
	syncs string // the setting core.fsync
	out   bytes.Buffer
}

// failed is an error of git with its exit code.
type failed struct {
	exit int
	text string
}

func (f *failed) Error() string { return f.text }

func fatal(format string, args ...any) error {
	return &failed{128, "fatal: " + fmt.Sprintf(format, args...)}
}

// Run is a git.Program.
func (r *Repository) Run(ctx context.Context, c *git.Call) (out []byte, stderr string, exit int, err error) {
	if ctx.Err() != nil {
		return nil, "", 0, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x, args := r.call(c)
	do, ok := commands[args[0]]
	if !ok {
		panic("the model of git does not know the command " + args[0])
	}
	err = do(x, options(args[1:]))
	if f, ok := err.(*failed); ok {
		return x.out.Bytes(), f.text, f.exit, nil
	}
	return x.out.Bytes(), "", 0, err
}

// call returns a call with its arguments without settings.
func (r *Repository) call(c *git.Call) (x *call, args []string) {
	x = &call{Repository: r, Call: c}
	for args = c.Args; args[0] == "-c"; args = args[2:] {
		if v, ok := strings.CutPrefix(args[1], "core.fsync="); ok {
			x.syncs = v
		}
	}
	return x, args
}

// commands are what the model can do.
var commands = map[string]func(x *call, o *arguments) error{
	"rev-parse": (*call).revParse, "merge-base": (*call).mergeBase, "merge-tree": (*call).mergeTree, "commit-tree": (*call).commitTree,
	"update-ref": (*call).updateRef, "for-each-ref": (*call).forEachRef, "log": (*call).log, "ls-tree": (*call).lsTree, "mktree": (*call).mkTree,
	"hash-object": (*call).hashObject, "diff-tree": (*call).diffTree, "fetch": (*call).fetch, "push": (*call).push, "ls-remote": (*call).lsRemote,
	"worktree": (*call).worktree, "reset": (*call).reset, "checkout": (*call).checkOut, "clean": (*call).clean,
}

// arguments are the arguments of a command. The value of an option follows "=", or is the next word
// for options of one letter that have one.
type arguments struct {
	options map[string][]string
	rest    []string
}

func options(args []string) *arguments {
	o := &arguments{options: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		name, value, _ := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			o.rest = append(o.rest, args[i])
			continue
		case name == "-m" || name == "-p" || name == "-F":
			i++
			value = args[i]
		}
		o.options[name] = append(o.options[name], value)
	}
	return o
}

func (o *arguments) has(name string) bool { return o.options[name] != nil }

func (o *arguments) value(name string) string { return append(o.options[name], "")[0] }

// set changes an object or a ref. It survives a power cut if the setting core.fsync contains its
// component.
func (x *call) set(c change, component string) {
	x.now.set(c)
	x.pending = slices.DeleteFunc(x.pending, func(p change) bool { return p.name == c.name })
	if c.value != "" && slices.Contains(strings.Split(x.syncs, ","), component) {
		x.durable.set(c)
	} else {
		x.pending = append(x.pending, c)
	}
}

func idOf(kind, text string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(text), text))
	return hex.EncodeToString(sum[:])
}

// write stores an object, and returns its id.
func (x *call) write(kind, text string) string {
	id := idOf(kind, text)
	if x.now.objects[id] == "" {
		x.set(change{id, kind + " " + text}, "objects")
	}
	return id
}

// read returns the text of an object of a kind.
func (x *call) read(kind, id string) (string, error) {
	text, ok := strings.CutPrefix(x.now.objects[id], kind+" ")
	if !ok {
		return "", fatal("%s is not a %s", id, kind)
	}
	return text, nil
}

// tree returns the ids of the files in a tree, by their names.
func (x *call) tree(id string) (map[string]string, error) {
	text, err := x.read("tree", id)
	files := map[string]string{}
	for text != "" {
		head, rest, _ := strings.Cut(text, "\x00")
		_, name, _ := strings.Cut(head, " ")
		files[name], text = hex.EncodeToString([]byte(rest[:20])), rest[20:]
	}
	return files, err
}

// mode is the mode of all files.
const mode = "100644"

func (x *call) writeTree(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		id, _ := hex.DecodeString(files[name])
		fmt.Fprintf(&b, "%s %s\x00%s", mode, name, id)
	}
	return x.write("tree", b.String())
}

// commit is a parsed commit. author is "NAME <EMAIL> SECONDS ZONE".
type commit struct {
	id, tree        string
	parents         []string
	author          string
	date            string // of the committer
	message         string
	subject, detail string // of the message
}

func (x *call) commit(id string) (*commit, error) {
	text, err := x.read("commit", id)
	if err != nil {
		return nil, err
	}
	c := &commit{id: id}
	head, message, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		switch name, value, _ := strings.Cut(line, " "); name {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "author":
			c.author = value
		case "committer":
			c.date = strings.Fields(value[strings.LastIndex(value, ">")+1:])[0]
		}
	}
	c.message = message
	c.subject, c.detail, _ = strings.Cut(message, "\n\n")
	c.subject = strings.ReplaceAll(strings.TrimRight(c.subject, "\n"), "\n", " ")
	return c, nil
}

// files returns the files of a commit.
func (x *call) files(id string) (map[string]string, error) {
	c, err := x.commit(id)
	if err != nil {
		return nil, err
	}
	return x.tree(c.tree)
}

// find returns the commit of a revision.
func (x *call) find(revision string) (string, error) {
	name := strings.TrimSuffix(revision, "^{commit}")
	if name == "HEAD" {
		return x.head(x.At.GitDir)
	}
	for _, ref := range []string{name, "refs/heads/" + name} {
		if id := x.now.refs[ref]; id != "" {
			name = id
		}
	}
	if _, err := x.read("commit", name); err != nil {
		return "", fatal("%s is no commit", revision)
	}
	return name, nil
}

// ancestors returns a commit and its ancestors.
func (x *call) ancestors(id string) (map[string]bool, error) {
	all, left := map[string]bool{}, []string{id}
	for len(left) > 0 {
		id, left = left[0], left[1:]
		if all[id] {
			continue
		}
		c, err := x.commit(id)
		if err != nil {
			return nil, err
		}
		all[id], left = true, append(left, c.parents...)
	}
	return all, nil
}

// base returns the best common ancestor of commits, or "". There is never more than one, because
// the branches of changes contain no merges.
func (x *call) base(a, b string) (string, error) {
	of, err := x.ancestors(a)
	if err != nil {
		return "", err
	}
	other, err := x.ancestors(b)
	if err != nil {
		return "", err
	}
	var best []string
	for id := range of {
		if other[id] {
			best = append(best, id)
		}
	}
	for _, id := range slices.Clone(best) {
		c, _ := x.commit(id) // it was read before
		for _, p := range c.parents {
			inner, _ := x.ancestors(p)
			best = slices.DeleteFunc(best, func(id string) bool { return inner[id] })
		}
	}
	if len(best) > 1 {
		panic(fmt.Sprintf("the model of git does not know merges of %s and %s", a, b))
	}
	return strings.Join(best, ""), nil
}

// merge merges the files of commits. It returns the names of those that conflict.
func (x *call) merge(ours, theirs string) (merged map[string]string, conflicts []string, err error) {
	base, err := x.base(ours, theirs)
	if err == nil && base == "" {
		err = fatal("refusing to merge unrelated histories")
	}
	if err != nil {
		return nil, nil, err
	}
	var sides [3]map[string]string
	for i, id := range []string{base, ours, theirs} {
		if sides[i], err = x.files(id); err != nil {
			return nil, nil, err
		}
	}
	merged = map[string]string{}
	for _, side := range sides {
		for name := range side {
			was, a, b := sides[0][name], sides[1][name], sides[2][name]
			switch {
			case a == b || b == was:
				merged[name] = a
			case a == was:
				merged[name] = b
			default:
				conflicts = append(conflicts, name)
			}
		}
	}
	maps.DeleteFunc(merged, func(_, id string) bool { return id == "" })
	slices.Sort(conflicts)
	return merged, slices.Compact(conflicts), nil
}
