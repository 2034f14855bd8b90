package cli

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// killedRepository is a project in a git repository, in which a test kills commands at their calls
// of git. The test changes nothing in the user's checkout.
type killedRepository struct {
	t       *testing.T
	dir     string
	environ []string
	random  *rand.Rand
	before  string         // state of the checkout
	calls   map[string]int // calls of git by a command, by its first two words
	counter string         // directory of countedGit and its files
	kills   int
}

// countedGit is git for the commands that are killed. The file at has the number of a call that
// changes something. Before or after it, countedGit kills the command, or lets the test kill it a
// little later, when the command writes files.
const countedGit = `#!/bin/sh
dir="${0%%/*}"
case " $* " in *" "rev-parse" "* | *" "rev-list" "* | *" "status" "* | *" "merge-base" "* | *" "show-ref" "* | *" "ls-* | *" "log" "* | *" "for-each-ref" "* | *" "cat-file" "* | *" "config" "* | *" "diff*)
	exec %[1]s "$@" ;;
esac
read -r n < "$dir/calls"; n=$((n + 1)); echo $n > "$dir/calls"
read -r at < "$dir/at"
end() { until read -r pid < "$dir/pid"; do sleep 0.01; done; kill -9 "$pid"; }
[ "before $n" != "$at" ] || end
%[1]s "$@"
code=$?
[ "after $n" != "$at" ] || end
[ "later $n" != "$at" ] || : > "$dir/reached"
exit $code
`

// newKilledRepository returns a repository with the branch main and no commit. rounds is the value
// of an environment variable, or a default.
func newKilledRepository(t *testing.T, variable string, some int) (r *killedRepository, rounds int) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	r = &killedRepository{t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(1, 1)), calls: map[string]int{}, counter: t.TempDir()}
	r.put("git", fmt.Sprintf(countedGit, git))
	r.put("calls", "0\n")
	r.put("at", "never\n")
	r.environ = append(os.Environ(), "PATH="+r.counter+":"+os.Getenv("PATH"), "HOME="+r.dir, "CONCERTO_CACHE="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	t.Cleanup(func() { t.Logf("%d kills", r.kills) })
	r.git("init", "-q", "-b", "main", ".")
	return r, killsOf(t, variable, some)
}

func (r *killedRepository) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	c.Env = r.environ
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *killedRepository) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// commit commits all files to the branch main.
func (r *killedRepository) commit() {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "one")
}

// checkout returns the state of the user's checkout.
func (r *killedRepository) checkout() string {
	r.t.Helper()
	index, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s %s %x", r.git("-c", "core.fsmonitor=false", "status", "--porcelain"), r.git("rev-parse", "HEAD"), r.git("stash", "list"), r.git("config", "--list", "--local"), index)
}

// checkCheckout fails the test if the user's checkout has changed since the first call.
func (r *killedRepository) checkCheckout() {
	r.t.Helper()
	now := r.checkout()
	if r.before == "" {
		r.before = now
	}
	if now != r.before {
		r.t.Fatalf("the checkout was\n%s\nand is\n%s", r.before, now)
	}
}

func (r *killedRepository) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], append([]string{"-C", r.dir}, args...)...)
	c.Args[0], c.Env, c.Dir = "concerto", r.environ, r.dir
	return c
}

// put writes a file of countedGit.
func (r *killedRepository) put(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.counter, name), []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// run runs a command, and kills it at one of its first calls of git, so many. If most is 0, the
// command ends by itself. run returns the number of its calls.
func (r *killedRepository) run(c *exec.Cmd, most int) (calls int, err error) {
	r.t.Helper()
	r.put("calls", "0\n")
	r.put("pid", "")
	r.put("at", "never\n")
	if most > 0 {
		r.put("at", fmt.Sprintln([]string{"before", "after", "later"}[r.random.IntN(3)], 1+r.random.IntN(most)))
	}
	wait := time.Duration(r.random.IntN(8000)) * time.Microsecond
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.put("pid", fmt.Sprintln(c.Process.Pid))
	reached := filepath.Join(r.counter, "reached")
	var killer sync.WaitGroup
	killer.Go(func() {
		if err := testproc.AwaitFile(reached); err != nil {
			r.t.Error(err)
		}
		<-time.After(wait)
		_ = c.Process.Kill() // fails if the process has exited
	})
	err = c.Wait()
	r.put("at", "never\n")
	r.put("reached", "")
	killer.Wait()
	if err := os.Remove(reached); err != nil {
		r.t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(r.counter, "calls"))
	_, _ = fmt.Sscan(string(text), &calls) // 0 if the command was killed while the file was written
	if c.ProcessState.ExitCode() < 0 {
		r.kills++
	}
	return calls, err
}

// kill runs a command, and kills it at one of its calls of git, unless it needs fewer.
func (r *killedRepository) kill(args ...string) {
	r.t.Helper()
	key, c := strings.Join(args[:min(2, len(args))], " "), r.command(args...)
	calls, _ := r.run(c, cmp.Or(r.calls[key], 4)) // it is repeated, and must succeed then
	r.calls[key] = max(r.calls[key], calls)
}
