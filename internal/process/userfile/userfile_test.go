package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRead checks that a file of exactly the limit is read and that a larger one is refused with
// its size.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, size := range []int{0, 1, 511, 512, 513, 4096} {
		want := strings.Repeat("x", size)
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(string, int64) ([]byte, error){"Read": Read, "ReadStream": ReadStream} {
			if got, err := read(path, int64(size)); err != nil || string(got) != want {
				t.Errorf("%s of %d bytes: %d bytes, %v", name, size, len(got), err)
			}
			large := &TooLargeError{}
			if _, err := read(path, int64(size-1)); size > 0 && !errors.As(err, &large) {
				t.Errorf("%s of %d bytes with a limit of %d: %v", name, size, size-1, err)
			}
		}
	}
}

// TestGrowing checks that a file that reports no size, as those in /proc do, is read to its end, up
// to the limit.
func TestGrowing(t *testing.T) {
	const path = "/proc/self/maps"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Skip("there is no ", path)
	}
	if got, err := Read(path, MaxText); err != nil || len(got) < len(want)/2 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	large := &TooLargeError{}
	if _, err := Read(path, 100); !errors.As(err, &large) || large.Size != 0 {
		t.Error(err)
	}
}

// TestReplace checks that Replace writes the text and the mode, and that a failed Replace leaves no
// temporary file.
func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"old", "new"} {
		if err := Replace(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); string(got) != text || err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%q %v %v", got, info.Mode(), err)
		}
	}
	if err := Replace(filepath.Join(file, "below"), nil, 0o600); err == nil {
		t.Error("a file below a file was written")
	}
	if err := os.Mkdir(file+".dir", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(file+".dir", nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 2 {
		t.Errorf("%v %v", left, err)
	}
}
