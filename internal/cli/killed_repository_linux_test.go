package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killedRepository is a project in a git repository, in which a test kills commands at random
// moments. The test changes nothing in the user's checkout.
type killedRepository struct {
	t       *testing.T
	dir     string
	environ []string
	random  *rand.Rand
	took    map[string]time.Duration // time that a command takes, by its first two words
	before  string                   // state of the checkout
}

// newKilledRepository returns a repository with the branch main and no commit. rounds is the value
// of an environment variable, or a default.
func newKilledRepository(t *testing.T, variable string, some int) (r *killedRepository, rounds int) {
	rounds, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		rounds = some
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r = &killedRepository{t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1)), took: map[string]time.Duration{}}
	r.environ = append(os.Environ(), "HOME="+r.dir, "CONCERTO_CACHE="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	r.git("init", "-q", "-b", "main", ".")
	return r, rounds
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

// kill starts a command and kills it after a part of the time that it takes. It returns the
// command, which has ended.
func (r *killedRepository) kill(args ...string) *exec.Cmd {
	r.t.Helper()
	key := strings.Join(args[:min(2, len(args))], " ")
	most := max(r.took[key], 20*time.Millisecond)
	c := r.command(args...)
	began := time.Now()
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(r.random.Int64N(int64(most)*5/4)), func() { _ = c.Process.Signal(syscall.SIGKILL) })
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() >= 0 {
		r.took[key] = time.Since(began)
	}
	timer.Stop()
	return c
}
