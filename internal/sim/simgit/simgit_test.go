package simgit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// both is the model and the installed git, each with a repository of its own.
type both struct {
	t    *testing.T
	r    *rand.Rand
	tops [2]string
	git  [2]*git.Git
	date int
	log  []string

	main     []string // commits, the newest last
	branches []string // commits that contain no merges beyond those of main
}

func newBoth(t *testing.T, seed uint64) *both {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &both{t: t, r: rand.New(rand.NewPCG(seed, 1)), tops: [2]string{filepath.Join(dir, "a", "r"), filepath.Join(dir, "b", "r")}, date: 1_700_000_000}
	model, err := New(b.tops[0])
	if err != nil {
		t.Fatal(err)
	}
	installed, err := Installed(b.tops[1])
	if err != nil {
		t.Fatal(err)
	}
	b.git = [2]*git.Git{git.Of(model.Run).With(Identity...), git.Of(installed).With(Identity...)}
	return b
}

// run runs a command with both, compares what they do, and returns the output. Place "w" is the
// worktree w.
func (b *both) run(place, input string, args ...string) string {
	b.t.Helper()
	var outs [2]string
	for i, g := range b.git {
		at, own := git.Place{Dir: b.tops[i]}, slices.Clone(args)
		if place != "" {
			at = git.Place{Dir: b.tops[i] + "-" + place, GitDir: filepath.Join(b.tops[i], ".git", "worktrees", "r-"+place), CommonDir: filepath.Join(b.tops[i], ".git")}
		}
		for k := range own {
			own[k] = strings.ReplaceAll(own[k], "TOP", b.tops[i])
		}
		date := fmt.Sprintf("%d +0000", b.date)
		out, err := g.With("GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date).Pipe(context.Background(), at, []byte(input), own...)
		text := string(out)
		if git.IsExit(err, 1) && args[0] == "merge-tree" { // the model does not write markers
			_, text, _ = strings.Cut(text, "\x00")
		}
		exit := 0
		for code := 1; code <= 255 && err != nil; code++ {
			if git.IsExit(err, code) {
				exit, err = code, nil
			}
		}
		if err != nil {
			b.t.Fatal(err)
		}
		outs[i] = fmt.Sprintf("%s\nexit %d%s", strings.ReplaceAll(text, b.tops[i], "TOP"), exit, filesOf(b.tops[i]+"-w"))
	}
	b.log = append(b.log, strings.Join(args, " "))
	if outs[0] != outs[1] {
		b.t.Fatalf("git %q:\nthe model: %q\ngit:       %q\nafter\n%s", args, outs[0], outs[1], strings.Join(b.log, "\n"))
	}
	return strings.TrimSpace(outs[0][:strings.LastIndex(outs[0], "\nexit ")])
}

// filesOf returns the files in a directory with their contents.
func filesOf(dir string) (all string) {
	entries, _ := os.ReadDir(dir) // none without a worktree
	for _, e := range entries {
		if e.Name() != ".git" {
			text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
			all += fmt.Sprintf(" [%s %s]", e.Name(), text)
		}
	}
	return all
}

func (b *both) any(of []string) string { return of[b.r.IntN(len(of))] }

// commit makes a commit with a changed file.
func (b *both) commit(parent, message string) string {
	var lines, args []string
	if parent != "" {
		args, lines = []string{"-p", parent}, strings.Split(b.run("", "", "ls-tree", parent), "\n")
	}
	b.date += b.r.IntN(3)
	name := fmt.Sprintf("f%d", b.r.IntN(6))
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" || strings.HasSuffix(l, "\t"+name) })
	if parent == "" || b.r.IntN(8) > 0 {
		lines = append(lines, "100644 blob "+b.run("", fmt.Sprintf("%d\n", b.date*b.r.IntN(2)), "hash-object", "-w", "--stdin")+"\t"+name)
	}
	tree := b.run("", strings.Join(append(lines, ""), "\n"), "mktree")
	return b.run("", message, append(append([]string{"commit-tree", "-F", "-"}, args...), tree)...)
}

// step does something at random.
func (b *both) step() {
	main, any := b.main[len(b.main)-1], b.any(slices.Concat(b.main, b.branches))
	ref := fmt.Sprintf("refs/concerto/changes/main/c%d", b.r.IntN(3))
	zero := strings.Repeat("0", 40)
	switch b.r.IntN(17) {
	case 0, 1, 2:
		from := b.any(slices.Concat(b.main, b.branches))
		b.branches = append(b.branches, b.commit(from, b.any([]string{"One", "Two\n\nBody\nof two lines\n", "Three\nlines\n\nConcerto-Change: x\n"})))
	case 3, 4:
		branch := b.any(b.branches)
		tree := b.run("", "", "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", main, branch)
		if id, rest, _ := strings.Cut(tree, "\x00"); len(id) == 40 && rest == "" {
			b.main = append(b.main, b.run("", "Merge\n\nConcerto-Change: y\n", "commit-tree", "-F", "-", "-p", main, "-p", branch, id))
			b.run("", "", "update-ref", "-m", "merge", "refs/heads/main", b.main[len(b.main)-1], main)
		}
	case 5:
		b.run("", "", slices.DeleteFunc([]string{"update-ref", ref, any, b.any([]string{"", zero, main, any})}, func(a string) bool { return a == "" })...)
	case 6:
		b.run("", "", slices.DeleteFunc([]string{"update-ref", "-d", ref, b.any([]string{"", any})}, func(a string) bool { return a == "" })...)
	case 7:
		b.run("", "", "rev-parse", "--verify", "--quiet", "--end-of-options", b.any([]string{ref, "refs/heads/main", "refs/heads/none", any, "HEAD"})+"^{commit}")
		b.run("", "", "rev-parse", "--verify", b.any([]string{any, main})+"^{tree}")
	case 8:
		b.run("", "", "merge-base", main, b.any(b.branches))
		b.run("", "", "merge-base", "--is-ancestor", any, b.any(b.main))
	case 9:
		b.run("", "", "for-each-ref", "--format="+b.any([]string{"%(refname)", "%(objectname) %(refname)"}), "refs/concerto/changes/main/")
	case 10:
		b.run("", "", "log", "-1", "--format=%an%n%ae%n%ad%n%b", "--date=raw", any, "--")
		b.run("", "", "log", "-1", "--format="+b.any([]string{"%s", "%B", "%H %P %T"}), any, "--")
	case 11:
		b.run("", "", "log", "--reverse", "--no-merges", "--format=* %s", main+".."+b.any(b.branches), "--")
	case 12:
		b.run("", "", "diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", main, any)
	case 13:
		b.run("", "", slices.DeleteFunc([]string{"push", "--quiet", b.any([]string{"", "--force", "--force-with-lease=refs/heads/main:" + main, "--force-with-lease=refs/heads/main:" + any}), "origin", any + ":refs/heads/main"}, func(a string) bool { return a == "" })...)
		b.run("", "", "ls-remote", "--quiet", "origin", "refs/heads/main")
	case 14:
		b.run("", "", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "origin", "+refs/heads/main:refs/concerto/fetched/main")
		b.run("", "", "rev-parse", "--verify", "refs/concerto/fetched/main")
	case 15:
		b.run("", "", "worktree", "add", "--quiet", "--no-checkout", "--detach", "--", "TOP-w", any)
		b.run("w", "", "reset", "--quiet", "--hard", "--no-recurse-submodules")
		b.run("", "", "worktree", "list", "--porcelain", "-z")
	case 16:
		if _, err := os.Stat(b.tops[0] + "-w"); err != nil {
			return
		}
		name := b.any([]string{"f1", "new", "f2"})
		for _, top := range b.tops {
			if err := os.WriteFile(filepath.Join(top+"-w", name), []byte("x"), 0o600); err != nil {
				b.t.Fatal(err)
			}
		}
		b.run("w", "", "checkout", "--quiet", "--detach", "--force", "--no-recurse-submodules", any, "--")
		b.run("w", "", "clean", "--quiet", "-ffd")
		b.run("w", "", "rev-parse", "--verify", "HEAD")
	}
}

// TestModel runs random sequences of the calls of merges with the model and with the installed git.
// Both must print the same and exit with the same code.
func TestModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b := newBoth(t, seed)
			root := b.commit("", "base\n")
			b.main, b.branches = []string{root}, []string{root}
			for _, branch := range []string{"main", "work"} {
				b.run("", "", "update-ref", "refs/heads/"+branch, root)
			}
			b.run("", "", "push", "--quiet", "origin", root+":refs/heads/main")
			for range 60 {
				b.step()
			}
			b.run("", "", "log", "--format=%B", "refs/heads/main", "--")
		})
	}
}
