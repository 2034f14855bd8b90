//go:build unix

package workdirfs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostd/workdirfs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// place returns a run's directory with files that an attacker has created, and files outside of it
// that must not be accessible.
func place(t *testing.T) (*workdirfs.Scope, string) {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "run")
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(top, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o640)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("secret", "outside")
	write("run/a.txt", "héllo\n")
	write("run/sub/b.txt", "b\n")
	write("run/.git/config", "[core]\n")
	write("run/bin", "\xff\xfe")
	for name, to := range map[string]string{"out": "../secret", "abs": filepath.Join(top, "secret"), "up": "..", "etc": "/etc", "loop": "loop", "in": "a.txt", "dir": "sub",
		"g": ".git", "sub/g": "../.git", "self": "/proc/self", "nowhere": "missing"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := workdirfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func code(err error) protocol.RPCCode {
	var e *workdirfs.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return protocol.RPCCode(protocol.Internal)
	}
	return ""
}

var paths = []struct {
	path              string
	read, list, write protocol.RPCCode
}{
	{"a.txt", "", "not_found", ""},
	{"sub/b.txt", "", "not_found", ""},
	{"./sub/../a.txt", "", "not_found", ""},
	{"", "not_regular", "", "not_regular"},
	{".", "not_regular", "", "not_regular"},
	{"sub", "not_regular", "", "not_regular"},
	{"sub/", "not_regular", "", "not_regular"},
	{"missing", "not_found", "not_found", ""},
	{"missing/x", "not_found", "not_found", "not_found"},
	{"a.txt/x", "not_found", "not_found", "not_found"},
	{"in", "", "not_found", "not_regular"},
	{"dir/b.txt", "", "not_found", ""},
	{"dir", "not_regular", "", "not_regular"},
	{"fifo", "not_regular", "not_found", "not_regular"},
	{"bin", "not_text", "not_found", ""},
	{"../secret", "out_of_scope", "out_of_scope", "out_of_scope"},
	{"sub/../../secret", "out_of_scope", "out_of_scope", "out_of_scope"},
	{"..", "out_of_scope", "out_of_scope", "out_of_scope"},
	{"/etc/passwd", "out_of_scope", "out_of_scope", "out_of_scope"},
	{"a\x00.txt", "out_of_scope", "out_of_scope", "out_of_scope"},
	{strings.Repeat("a/", 2048) + "b", "out_of_scope", "out_of_scope", "out_of_scope"},
	{"out", "out_of_scope", "out_of_scope", "not_regular"},
	{"abs", "out_of_scope", "out_of_scope", "not_regular"},
	{"up/secret", "out_of_scope", "out_of_scope", "out_of_scope"},
	{"up", "out_of_scope", "out_of_scope", "not_regular"},
	{"etc/passwd", "out_of_scope", "out_of_scope", "out_of_scope"},
	{"self/environ", "out_of_scope", "out_of_scope", "out_of_scope"},
	{".git/config", "", "not_found", "out_of_scope"},
	{".GIT/x", "not_found", "not_found", "out_of_scope"},
	{"g/config", "", "not_found", "out_of_scope"},
	{"sub/g/hooks", "not_found", "not_found", "out_of_scope"},
	{"dir/g/config", "", "not_found", "out_of_scope"},
	{".git", "not_regular", "", "out_of_scope"},
	{"nowhere", "not_found", "not_found", "not_regular"},
}

// TestPaths checks that no path leads out of the directory, neither for reading nor for writing.
func TestPaths(t *testing.T) {
	for _, c := range paths {
		s, dir := place(t)
		if _, err := s.Read(context.Background(), protocol.ReadFile{Path: c.path}); code(err) != c.read {
			t.Errorf("read of %.40q: error = %v, want %q", c.path, err, c.read)
		}
		if _, err := s.List(protocol.ListDir{Path: c.path}); code(err) != c.list {
			t.Errorf("list of %.40q: error = %v, want %q", c.path, err, c.list)
		}
		if _, err := s.Write(protocol.WriteFile{Path: c.path, Content: "new"}); code(err) != c.write {
			t.Errorf("write of %.40q: error = %v, want %q", c.path, err, c.write)
		}
		for name, want := range map[string]string{"../secret": "outside", ".git/config": "[core]\n"} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
				t.Fatalf("after %.40q: content of %s = %q (%v), want it unchanged", c.path, name, got, err)
			}
		}
		left, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
		if err != nil || len(left) > 0 {
			t.Errorf("after %.40q: remaining temporary files = %v (%v)", c.path, left, err)
		}
	}
	s, _ := place(t)
	if _, err := s.Read(context.Background(), protocol.ReadFile{Path: "loop"}); err == nil {
		t.Error("read of a link to itself returned no error")
	}
}

func TestRead(t *testing.T) {
	s, dir := place(t)
	got, err := s.Read(context.Background(), protocol.ReadFile{Path: "a.txt"})
	if err != nil || got.Content != "héllo\n" || got.Size != 7 || got.Truncated || got.SHA256 != hash("héllo\n") || got.Path != "a.txt" {
		t.Errorf("read = %+v, error = %v", got, err)
	}
	for _, c := range []struct {
		offset, limit int64
		want          string
		truncated     bool
	}{{0, 2, "h", true}, {0, 3, "hé", true}, {2, 100, "llo\n", false}, {1, 2, "é", true}, {7, 5, "", false}, {100, 5, "", false}} {
		got, err := s.Read(context.Background(), protocol.ReadFile{Path: "a.txt", Offset: &c.offset, Limit: &c.limit})
		if err != nil || got.Content != c.want || got.Truncated != c.truncated || got.Size != 7 {
			t.Errorf("read of offset %d and limit %d = %+v, error = %v", c.offset, c.limit, got, err)
		}
	}
	big := strings.Repeat("é", workdirfs.MaxRead)
	if err := os.WriteFile(filepath.Join(dir, "big"), []byte("x"+big), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = s.Read(context.Background(), protocol.ReadFile{Path: "big"})
	if err != nil || !got.Truncated || len(got.Content) != workdirfs.MaxRead-1 || got.Size != int64(2*workdirfs.MaxRead+1) || got.SHA256 != hash("x"+big) {
		t.Errorf("read of a large file: %d bytes, truncated = %v, error = %v", len(got.Content), got.Truncated, err)
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestList(t *testing.T) {
	s, dir := place(t)
	got, err := s.List(protocol.ListDir{})
	if err != nil || got.Path != "." || got.Truncated {
		t.Fatal(got, err)
	}
	var names []string
	for _, e := range got.Entries {
		names = append(names, e.Name)
		switch e.Name {
		case "a.txt":
			if e.IsDir || e.IsLink || e.SizeBytes == nil || *e.SizeBytes != 7 {
				t.Errorf("entry of a file = %+v", e)
			}
		case "dir", "etc", "out":
			if e.IsDir || !e.IsLink || e.SizeBytes != nil {
				t.Errorf("entry of a link = %+v", e)
			}
		case "sub":
			if !e.IsDir || e.IsLink || e.SizeBytes != nil {
				t.Errorf("entry of a directory = %+v", e)
			}
		}
	}
	if !slices.IsSorted(names) || len(names) != 15 {
		t.Errorf("number of entries = %d, want 15: %v", len(names), names)
	}
	for i := range workdirfs.MaxEntries {
		if err := os.WriteFile(filepath.Join(dir, "sub", strings.Repeat("x", i%200+1)+string(rune('a'+i/200))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.List(protocol.ListDir{Path: "sub"}); err != nil || len(got.Entries) != workdirfs.MaxEntries || !got.Truncated {
		t.Errorf("entries of a large directory = %d, truncated = %v, error = %v", len(got.Entries), got.Truncated, err)
	}
}

func TestWrite(t *testing.T) {
	s, dir := place(t)
	is := func(name, want string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(dir, name))
		info, serr := os.Stat(filepath.Join(dir, name))
		if err != nil || serr != nil || string(got) != want || mode != 0 && info.Mode().Perm() != mode {
			t.Errorf("content of %s = %q, mode = %v (%v)", name, got, info.Mode(), err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "a.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	got, err := s.Write(protocol.WriteFile{Path: "a.txt", Content: "né", BaseSHA256: hash("héllo\n")})
	if err != nil || *got != (protocol.WriteFileResult{Path: "a.txt", BytesWritten: 3, SHA256: hash("né")}) {
		t.Errorf("write with the right base = %+v, error = %v", got, err)
	}
	is("a.txt", "né", 0o751)
	if _, err := s.Write(protocol.WriteFile{Path: "a.txt", Content: "x", BaseSHA256: hash("héllo\n")}); code(err) != protocol.Changed {
		t.Errorf("write with an outdated base: error = %v, want changed", err)
	}
	if _, err := s.Write(protocol.WriteFile{Path: "gone.txt", Content: "x", BaseSHA256: hash("")}); code(err) != protocol.Changed {
		t.Errorf("write of a missing file with a base: error = %v, want changed", err)
	}
	is("a.txt", "né", 0o751)
	if _, err := s.Write(protocol.WriteFile{Path: "new/deep/c.txt", Content: "c", Mkdirs: true}); err != nil {
		t.Error(err)
	}
	is("new/deep/c.txt", "c", 0)
	if _, err := s.Write(protocol.WriteFile{Path: "etc/x/c.txt", Content: "c", Mkdirs: true}); code(err) != protocol.OutOfScope {
		t.Errorf("creation of directories outside: error = %v, want out_of_scope", err)
	}
	if _, err := s.Write(protocol.WriteFile{Path: "new/.git/hooks/x", Content: "c", Mkdirs: true}); code(err) != protocol.OutOfScope {
		t.Errorf("write below .git: error = %v, want out_of_scope", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new/.git")); !os.IsNotExist(err) {
		t.Errorf("the refused write has created .git: %v", err)
	}
	long := strings.Repeat("x", workdirfs.MaxWrite)
	if _, err := s.Write(protocol.WriteFile{Path: "long", Content: long}); err != nil {
		t.Error(err)
	}
	if _, err := s.Write(protocol.WriteFile{Path: "long", Content: long + "y"}); code(err) != protocol.RPCCode(protocol.TooLarge) {
		t.Errorf("write of too long content: error = %v, want too_large", err)
	}
	is("long", long, 0)
}

// TestReplacedLink repeatedly replaces a directory with a link. Reads and writes through that name
// must never lead out of the directory or into .git.
func TestReplacedLink(t *testing.T) {
	s, dir := place(t)
	spot := filepath.Join(dir, "spot")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.RemoveAll(spot)
			switch i % 3 {
			case 0:
				os.Mkdir(spot, 0o755)
			case 1:
				os.Symlink("..", spot)
			case 2:
				os.Symlink(".git", spot)
			}
			runtime.Gosched()
		}
	})
	for range 3000 {
		s.Write(protocol.WriteFile{Path: "spot/secret", Content: "stolen"})
		s.Write(protocol.WriteFile{Path: "spot/config", Content: "stolen"})
		if got, err := s.Read(context.Background(), protocol.ReadFile{Path: "spot/secret"}); err == nil && got.Content != "stolen" {
			t.Errorf("read through the replaced directory = %q", got.Content)
		}
	}
	close(stop)
	wg.Wait()
	for name, want := range map[string]string{"../secret": "outside", ".git/config": "[core]\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("content of %s = %q (%v), want it unchanged", name, got, err)
		}
	}
}

func TestSearch(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed (Debian: apt-get install ripgrep)")
	}
	s, dir := place(t)
	ctx := context.Background()
	got, err := s.Search(ctx, protocol.Search{Q: "h.l+o"})
	if err != nil || len(got.Matches) != 1 || got.Matches[0] != (protocol.Match{Path: "a.txt", Line: 1, Column: 1, Text: "héllo"}) || got.Truncated {
		t.Errorf("search = %+v, error = %v", got, err)
	}
	// A query must not be used as an option of ripgrep, and must not lead out of the directory.
	for _, q := range []string{"--files", "-f/etc/passwd", "--pre=touch pwned", "--", "-e", "outside"} {
		if got, err := s.Search(ctx, protocol.Search{Q: q}); err != nil || len(got.Matches) != 0 {
			t.Errorf("search for %q = %+v, error = %v; want no matches", q, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); !os.IsNotExist(err) {
		t.Error("ripgrep ran a query as a program")
	}
	if _, err := s.Search(ctx, protocol.Search{Q: "(unclosed"}); code(err) != protocol.BadPattern {
		t.Errorf("invalid pattern: error = %v, want bad_pattern", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "many"), []byte(strings.Repeat("needle "+strings.Repeat("é", 600)+"\n", 300)), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = s.Search(ctx, protocol.Search{Q: "needle"})
	if err != nil || len(got.Matches) != workdirfs.MaxMatches || !got.Truncated || len([]rune(got.Matches[0].Text)) != workdirfs.MaxMatchText {
		t.Errorf("number of matches = %d, error = %v; want the maximum", len(got.Matches), err)
	}
}

// TestMissingProgram checks that the error for a missing program contains its name.
func TestMissingProgram(t *testing.T) {
	s, _ := place(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := s.Search(context.Background(), protocol.Search{Q: "x"}); code(err) != protocol.MissingDependency || !strings.Contains(err.Error(), "rg") {
		t.Errorf("search without ripgrep: error = %v", err)
	}
	if _, err := s.Status(context.Background(), protocol.Git{}); code(err) != protocol.MissingDependency || !strings.Contains(err.Error(), "git") {
		t.Errorf("status without git: error = %v", err)
	}
}

// repository returns a run's directory in a git repository. The repository's settings contain
// programs wherever git may run one. Each program creates the file pwned.
func repository(t *testing.T) (s *workdirfs.Scope, dir, pwned string) {
	t.Helper()
	dir = t.TempDir()
	pwned = filepath.Join(t.TempDir(), "pwned")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "..", "none"))
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("a.txt", "one\n")
	write("-p", "dash\n")
	write(":(top)", "magic\n")
	git("add", ".")
	git("commit", "-qm", "first")
	write("a.txt", "two\n")
	write("-p", "changed\n")
	evil := "touch " + pwned + "; cat"
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "pre-commit"} {
		write(".git/hooks/"+hook, "#!/bin/sh\ntouch "+pwned+"\n")
	}
	for _, kv := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "core.askPass", "diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.smudge",
		"filter.x.process", "filter.a.b.clean", "pager.diff", "pager.status", "interactive.diffFilter", "credential.helper", "gpg.program", "alias.status", "alias.diff"} {
		value := evil
		if strings.HasPrefix(kv, "alias.") {
			value = "!" + evil
		}
		git("config", kv, value)
	}
	git("config", "filter.x.required", "true")
	write(".gitattributes", "a.txt diff=x filter=x\n-p filter=a.b\n")
	s, err := workdirfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir, pwned
}

// TestGit checks git's output, and that git runs none of the programs in the repository's settings.
func TestGit(t *testing.T) {
	s, dir, pwned := repository(t)
	ctx := context.Background()
	status, err := s.Status(ctx, protocol.Git{})
	if err != nil || !strings.Contains(status.Stdout, "modified:   a.txt") {
		t.Errorf("status = %+v, error = %v", status, err)
	}
	diff, err := s.Diff(ctx, protocol.Git{})
	if err != nil || !strings.Contains(diff.Stdout, "-one\n+two\n") || !strings.Contains(diff.Stdout, "+changed") || diff.Truncated {
		t.Errorf("diff = %+v, error = %v", diff, err)
	}
	one, err := s.Diff(ctx, protocol.Git{Path: "-p"})
	if err != nil || !strings.Contains(one.Stdout, "+changed") || strings.Contains(one.Stdout, "two") {
		t.Errorf("diff of the file -p = %+v, error = %v", one, err)
	}
	for _, path := range []string{":(top)", ":(glob)**", "*"} {
		if got, err := s.Diff(ctx, protocol.Git{Path: path}); err != nil || got.Stdout != "" {
			t.Errorf("path %q: diff = %+v, error = %v; want it not used as a pattern", path, got, err)
		}
	}
	if _, err := s.Diff(ctx, protocol.Git{Path: "../x"}); code(err) != protocol.OutOfScope {
		t.Errorf("diff outside of the directory: error = %v, want out_of_scope", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("a line that is new\n", 60_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	long, err := s.Diff(ctx, protocol.Git{})
	if err != nil || !long.Truncated || len(long.Stdout) > workdirfs.MaxDiff || len(long.Stdout) < workdirfs.MaxDiff-10 {
		t.Errorf("size of a long diff = %d bytes, error = %v", len(long.Stdout), err)
	}
	if _, err := os.Stat(pwned); !os.IsNotExist(err) {
		t.Error("git ran a program of the repository's configuration")
	}
	c := exec.Command("git", "diff") // git with the repository's settings, as a user calls it
	c.Dir = dir
	_ = c.Run()
	if _, err := os.Stat(pwned); err != nil {
		t.Errorf("git ran none of the repository's programs without the safe settings, so this test checks nothing: %v", err)
	}
}

// TestNoRepository checks that the error outside of a repository contains git's message.
func TestNoRepository(t *testing.T) {
	s, err := workdirfs.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, ask := range []func(context.Context, protocol.Git) (*protocol.GitResult, error){s.Status, s.Diff} {
		if _, err := ask(context.Background(), protocol.Git{}); code(err) != protocol.NotFound || !strings.Contains(err.Error(), "not a git repository") || strings.Contains(err.Error(), "--") {
			t.Errorf("error outside of a repository = %v", err)
		}
	}
}
