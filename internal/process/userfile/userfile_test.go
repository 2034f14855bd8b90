package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRead checks that a file whose size equals the limit is read, and that a larger file is
// rejected with a TooLargeError.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, size := range []int{0, 1, 511, 512, 513, 4096} {
		want := strings.Repeat("x", size)
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(string, int64) ([]byte, error){"Read": Read, "ReadStream": ReadStream} {
			if got, err := read(path, int64(size)); err != nil || string(got) != want {
				t.Errorf("%s of %d bytes returns %d bytes, error %v", name, size, len(got), err)
			}
			large := &TooLargeError{}
			if _, err := read(path, int64(size-1)); size > 0 && !errors.As(err, &large) {
				t.Errorf("%s of %d bytes with a limit of %d returns error %v, want *TooLargeError", name, size, size-1, err)
			}
		}
	}
}

// TestGrowing reads a file that reports a size of 0, like those in /proc. It must be read
// completely, or rejected if it exceeds the limit.
func TestGrowing(t *testing.T) {
	const path = "/proc/self/maps"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Skip("there is no ", path)
	}
	if got, err := Read(path, MaxText); err != nil || len(got) < len(want)/2 {
		t.Errorf("Read returns %d bytes, error %v", len(got), err)
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
			t.Errorf("file content %q, mode %v, error %v", got, info.Mode(), err)
		}
	}
	if err := Replace(filepath.Join(file, "below"), nil, 0o600); err == nil {
		t.Error("Replace succeeded for a path below a regular file")
	}
	if err := os.Mkdir(file+".dir", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(file+".dir", nil, 0o600); err == nil {
		t.Error("Replace succeeded for a directory")
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 2 {
		t.Errorf("directory entries = %v, error %v; want two", left, err)
	}
}
