package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// tree creates a directory with files, given by path, and returns its path. A path that ends in "/"
// becomes a directory. A text that begins with "->" makes the path a symbolic link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(text, "->"); isLink {
			err = os.Symlink(target, at)
		} else if strings.HasSuffix(path, "/") {
			err = os.MkdirAll(at, 0o777)
		} else {
			err = os.WriteFile(at, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// resultText returns a request's result or its error as text.
func resultText(t *testing.T, f *Files, r effect.Request) string {
	t.Helper()
	v, err := f.Perform(t.Context(), r)
	if err != nil {
		var e *effect.Error
		if !errors.As(err, &e) || e.Kind != "FsError" || e.Fields["path"] == nil {
			t.Errorf("%s: error %#v is no FsError with a path", r.Kind(), err)
		}
		return err.Error()
	}
	switch v := v.(type) {
	case *effect.FileText:
		return v.Text
	case *effect.FileNames:
		return strings.Join(v.Names, " ")
	case *effect.FileStatus:
		out := map[bool]string{true: "dir", false: "file"}[v.IsDir]
		if !v.Exists {
			out = "nothing"
		}
		return out + strings.Repeat(".", int(v.Size))
	case nil:
		return "ok"
	}
	t.Fatalf("unexpected result of type %T", v)
	return ""
}

func TestFiles(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "é\n", "empty": "", "d/b": "b", "bad": "a\xff", "cut": "\xc3", "bom": "\ufeffx"})
	f := New(Options{Dir: dir})
	read := func(p string) effect.Request { return &effect.ReadFile{Path: p} }
	write := func(p, s string) effect.Request { return &effect.WriteFile{Path: p, Text: s} }
	info := func(p string) effect.Request { return &effect.FileInfo{Path: p} }
	for _, c := range []struct {
		r    effect.Request
		want string
	}{
		{read("a.txt"), "é\n"},
		{read(dir + "/a.txt"), "é\n"},
		{read("d/../a.txt"), "é\n"},
		{read("empty"), ""},
		{read("bom"), "\ufeffx"},
		{read("bad"), "cannot read bad: byte 1 is not UTF-8"},
		{read("cut"), "cannot read cut: byte 0 is not UTF-8"},
		{read("none"), "cannot read none: it is not there"},
		{read("d"), "cannot read d: it is a directory"},
		{read("a.txt/x"), "cannot read a.txt/x: it or one of its parents is not a directory"},
		{read(""), "cannot read : the path is empty"},
		{read("a\x00b"), "cannot read a\x00b: the path contains NUL"},
		{write("new", "1"), "ok"},
		{&effect.WriteFile{Path: "new", Text: "2", Append: true}, "ok"},
		{read("new"), "12"},
		{write("new", ""), "ok"},
		{read("new"), ""},
		{&effect.WriteFile{Path: "made", Text: "x", Append: true}, "ok"},
		{read("made"), "x"},
		{write("none/x", ""), "cannot write none/x: it is not there"},
		{write("d", ""), "cannot write d: it is a directory"},
		{info("a.txt"), "file..."},
		{info("d"), "dir"},
		{info("none"), "nothing"},
		{info("a.txt/x"), "nothing"},
		{&effect.ListDir{Path: "d"}, "b"},
		{&effect.ListDir{Path: "."}, "a.txt bad bom cut d empty made new"},
		{&effect.ListDir{Path: "none"}, "cannot list none: it is not there"},
		{&effect.ListDir{Path: "a.txt"}, "cannot list a.txt: it or one of its parents is not a directory"},
		{&effect.RemoveFile{Path: "made"}, "ok"},
		{&effect.RemoveFile{Path: "made"}, "cannot remove made: it is not there"},
		{&effect.RemoveFile{Path: "d"}, "cannot remove d: it is a directory"},
		{&effect.MakeDir{Path: "x/y"}, "ok"},
		{&effect.MakeDir{Path: "x/y"}, "ok"},
		{&effect.MakeDir{Path: "a.txt"}, "cannot make the directory a.txt: it or one of its parents is not a directory"},
		{&effect.CopyFile{From: "a.txt", Path: "x/a"}, "ok"},
		{&effect.CopyFile{From: "empty", Path: "x/a"}, "ok"},
		{info("x/a"), "file"},
		{&effect.CopyFile{From: "a.txt", Path: "./a.txt"}, "ok"},
		{read("a.txt"), "é\n"},
		{&effect.CopyFile{From: "none", Path: "y"}, "cannot copy none to y: none is not there"},
		{&effect.CopyFile{From: "d", Path: "y"}, "cannot copy d to y: d is not a regular file"},
		{&effect.CopyFile{From: "a.txt", Path: "d"}, "cannot copy a.txt to d: d is a directory"},
		{&effect.MoveFile{From: "x", Path: "z"}, "ok"},
		{info("z/y"), "dir"},
		{&effect.MoveFile{From: "a.txt", Path: "z/y/a"}, "ok"},
		{read("z/y/a"), "é\n"},
		{&effect.MoveFile{From: "none", Path: "y"}, "cannot move none to y: none is not there"},
	} {
		if got := resultText(t, f, c.r); got != c.want {
			t.Errorf("%s %+v: got %q, want %q", c.r.Kind(), c.r, got, c.want)
		}
	}
}

func TestGlob(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "", "b.md": "", ".h": "", "d/a.txt": "", "d/e/c.txt": "", "d/.git/x.txt": "", "l": "->d", "loop/up": "->..", "é1": ""})
	f := New(Options{Dir: dir})
	for _, c := range []struct{ pattern, want string }{
		{"*", "a.txt b.md d l loop é1"},
		{"*.txt", "a.txt"},
		{"?1", "é1"},
		{"[ab].*", "a.txt b.md"},
		{".*", ".h"},
		{"*/*.txt", "d/a.txt l/a.txt"},
		{"d/**", "d/a.txt d/e d/e/c.txt"},
		{"**/*.txt", "a.txt d/a.txt d/e/c.txt"},
		{"**/**/c.txt", "d/e/c.txt"},
		{"d/e/c.txt", "d/e/c.txt"},
		{"none/*", ""},
		{"none", ""},
		{"", ""},
		{dir + "/*.md", dir + "/b.md"},
		{"a[", "cannot match a[: the pattern ends inside `[` or after a backslash"},
	} {
		if got := resultText(t, f, &effect.Glob{Pattern: c.pattern}); got != c.want {
			t.Errorf("pattern %q: got %q, want %q", c.pattern, got, c.want)
		}
	}
}

// TestRoots checks that no request can access a path outside the roots.
func TestRoots(t *testing.T) {
	dir := tree(t, map[string]string{
		"data/in": "in", "data/up": "->../secret", "data/dir": "->..", "data/here": "->in", "data/away": "->/etc",
		"more/": "", "secret": "secret", "database": "x",
	})
	real := permit.Real(dir, true)
	roots := []string{real + "/data", real + "/more", real + "/none"}
	f := New(Options{Dir: dir, Read: roots, Write: roots})
	denied := func(p string) string { return p + " is not permitted" }
	for _, c := range []struct {
		r    effect.Request
		want string
	}{
		{&effect.ReadFile{Path: "data/in"}, "in"},
		{&effect.ReadFile{Path: dir + "/data/../data/in"}, "in"},
		{&effect.ReadFile{Path: "data/here"}, "in"},
		{&effect.WriteFile{Path: "data/out", Text: "o"}, "ok"},
		{&effect.MakeDir{Path: "data/x/y"}, "ok"},
		{&effect.ListDir{Path: "more"}, ""},
		{&effect.CopyFile{From: "data/in", Path: "more/in"}, "ok"},
		{&effect.MoveFile{From: "data/out", Path: "more/out"}, "ok"},
		{&effect.MoveFile{From: "more/out", Path: "more/x"}, "ok"},
		{&effect.ReadFile{Path: "more/x"}, "o"},
		{&effect.ReadFile{Path: "data/out"}, "cannot read data/out: it is not there"},
		{&effect.RemoveFile{Path: "more/x"}, "ok"},
		{&effect.RemoveFile{Path: "data/up"}, "ok"}, // the link, not what it leads to
		{&effect.ReadFile{Path: "none/x"}, "cannot read none/x: it is not there"},
		{&effect.ReadFile{Path: "secret"}, denied("secret")},
		{&effect.ReadFile{Path: "database"}, denied("database")},
		{&effect.ReadFile{Path: "data/../secret"}, denied("data/../secret")},
		{&effect.ReadFile{Path: "data/dir/secret"}, denied("data/dir/secret")},
		{&effect.ReadFile{Path: "data/away/hosts"}, denied("data/away/hosts")},
		{&effect.ReadFile{Path: "/etc/hosts"}, denied("/etc/hosts")},
		{&effect.WriteFile{Path: "data/dir/new", Text: ""}, denied("data/dir/new")},
		{&effect.WriteFile{Path: "new", Text: ""}, denied("new")},
		{&effect.FileInfo{Path: "data/dir/secret"}, denied("data/dir/secret")},
		{&effect.FileInfo{Path: "secret"}, denied("secret")},
		{&effect.ListDir{Path: "."}, denied(".")},
		{&effect.ListDir{Path: "data/dir"}, denied("data/dir")},
		{&effect.RemoveFile{Path: "data/dir/secret"}, denied("data/dir/secret")},
		{&effect.MakeDir{Path: "data/dir/new"}, denied("data/dir/new")},
		{&effect.CopyFile{From: "secret", Path: "data/s"}, denied("secret")},
		{&effect.CopyFile{From: "data/in", Path: "data/dir/s"}, denied("data/dir/s")},
		{&effect.MoveFile{From: "data/in", Path: "new"}, denied("new")},
		{&effect.MoveFile{From: "secret", Path: "data/s"}, denied("secret")},
		{&effect.MoveFile{From: "data/in", Path: "data/dir/s"}, denied("data/dir/s")},
		{&effect.Glob{Pattern: "*"}, denied(".")},
		{&effect.Glob{Pattern: "data/**/*"}, "data/away data/dir data/here data/in data/x data/x/y"},
	} {
		if got := resultText(t, f, c.r); got != c.want {
			t.Errorf("%s %+v: got %q, want %q", c.r.Kind(), c.r, got, c.want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "secret")); err != nil || string(data) != "secret" {
		t.Error(string(data), err)
	}
	if got := resultText(t, New(Options{Dir: dir, Read: []string{}, Write: []string{}}), &effect.ReadFile{Path: "data/in"}); got != denied("data/in") {
		t.Error("reading without roots was not refused:", got)
	}
}

func TestTempDir(t *testing.T) {
	f := New(Options{Read: []string{}, Write: []string{}})
	dir := resultText(t, f, &effect.TempDir{})
	if second := resultText(t, f, &effect.TempDir{}); second != dir {
		t.Error(dir, second)
	}
	if got := resultText(t, f, &effect.WriteFile{Path: dir + "/x", Text: "1"}); got != "ok" {
		t.Error(got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the temporary directory exists after Close:", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestLargeFile(t *testing.T) {
	dir := tree(t, map[string]string{"fits": "0123456789", "large": "0123456789a"})
	f := New(Options{Dir: dir})
	f.limit = 10
	for path, want := range map[string]string{"fits": "0123456789", "large": "cannot read large: it is larger than 256 MiB",
		"/dev/zero": "cannot read /dev/zero: it is larger than 256 MiB"} {
		if got := resultText(t, f, &effect.ReadFile{Path: path}); got != want {
			t.Errorf("reading %s = %s, want %s", path, got, want)
		}
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	if _, err := New(Options{}).Perform(t.Context(), &effect.Env{}); err == nil || err.Error() != "files cannot perform env" {
		t.Error(err)
	}
}

// TestAreas checks that the roots for reading and for writing are independent. A root may be a
// file, including a file that does not exist.
func TestAreas(t *testing.T) {
	dir := permit.Real(tree(t, map[string]string{"in/a": "a", "in/evil": "->/", "in/sub/b": "b", "c": "c", "other": "o"}), true)
	at := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, filepath.Join(dir, n))
		}
		return out
	}
	f := New(Options{Dir: dir, Read: at("in/sub", "c"), Write: at("in", "new"), Refused: func(write bool, path string) string {
		return map[bool]string{true: "writing ", false: "reading "}[write] + path + " is not permitted"
	}})
	for _, c := range []struct {
		r    effect.Request
		want string
	}{
		{&effect.ReadFile{Path: "c"}, "c"},
		{&effect.ReadFile{Path: "c/d"}, "cannot read c/d: it or one of its parents is not a directory"},
		{&effect.ReadFile{Path: "other"}, "reading other is not permitted"},
		{&effect.ReadFile{Path: "in/a"}, "reading in/a is not permitted"},
		{&effect.FileInfo{Path: "in/a"}, "reading in/a is not permitted"},
		{&effect.WriteFile{Path: "in/a", Text: "x"}, "ok"},
		{&effect.WriteFile{Path: "c", Text: "x"}, "writing c is not permitted"},
		{&effect.WriteFile{Path: "new", Text: "x"}, "ok"},
		{&effect.WriteFile{Path: "new", Text: "y"}, "ok"},
		{&effect.WriteFile{Path: "newer", Text: "x"}, "writing newer is not permitted"},
		{&effect.CopyFile{From: "in/a", Path: "new"}, "reading in/a is not permitted"},
		{&effect.CopyFile{From: "c", Path: "in/c"}, "ok"},
		// A link that later replaces a root must not be followed.
		{&effect.MoveFile{From: "in/sub", Path: "in/x"}, "ok"},
		{&effect.MoveFile{From: "in/evil", Path: "in/sub"}, "ok"},
		{&effect.ReadFile{Path: "in/sub/etc/passwd"}, "reading in/sub/etc/passwd is not permitted"},
		{&effect.ListDir{Path: "in/sub"}, "reading in/sub is not permitted"},
		{&effect.Glob{Pattern: "in/sub/*"}, "reading in/sub/ is not permitted"},
	} {
		if got := resultText(t, f, c.r); got != c.want {
			t.Errorf("%s %+v: got %q, want %q", c.r.Kind(), c.r, got, c.want)
		}
	}
}

// TestReasonsNameThePathAtFault checks that the error of an operation on two paths names the path
// that has caused the error.
func TestReasonsNameThePathAtFault(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fs.ErrPermission, "cannot move a to b: the system does not permit b"},
		{fs.ErrNotExist, "cannot move a to b: b is not there"},
		{syscall.EISDIR, "cannot move a to b: b is a directory"},
		{syscall.ENOTDIR, "cannot move a to b: b or one of its parents is not a directory"},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EXDEV}, "cannot move a to b: invalid cross-device link"},
	} {
		if got := operationError("move a to b", "b", "b", c.err).Error(); !strings.Contains(got, c.want) {
			t.Errorf("text of error %v = %q, want it to contain %q", c.err, got, c.want)
		}
	}
}
