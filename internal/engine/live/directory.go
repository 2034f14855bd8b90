// Package live shows the runs of this user that are running on this machine. Each run has a socket,
// from which `concerto top` reads its state (spec/41-top.md).
package live

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Variables of the environment.
const (
	dirVariable    = "CONCERTO_RUNTIME_DIR"
	switchVariable = "CONCERTO_TOP"
)

// maxPath is the longest path of a socket, in bytes. Systems limit it to 104 or 108.
const maxPath = 100

// suffix is the end of the name of a socket. The name before it has at most 18 bytes, as the ids
// that Concerto chooses; that of a run with a longer id is a hash.
const (
	suffix  = ".sock"
	maxName = 18
)

// Directory returns the directory of the sockets, or "" if the environment turns them off:
// $CONCERTO_RUNTIME_DIR, else the directory concerto in $XDG_RUNTIME_DIR, else one in the temporary
// directory. If paths in it would be too long, it is another one in the temporary directory.
func Directory(environ []string) string {
	vars := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	if vars[switchVariable] == "off" {
		return ""
	}
	temporary := filepath.Join(os.TempDir(), fmt.Sprintf("concerto-%d", os.Getuid()))
	dir := vars[dirVariable]
	if dir == "" && vars["XDG_RUNTIME_DIR"] != "" {
		dir = filepath.Join(vars["XDG_RUNTIME_DIR"], "concerto")
	}
	if dir == "" {
		return temporary
	}
	if len(dir)+1+maxName+len(suffix) > maxPath {
		sum := sha256.Sum256([]byte(dir))
		return temporary + "-" + hex.EncodeToString(sum[:4])
	}
	return dir
}

// ErrForeign means that the directory of the sockets belongs to another user, or that other users
// may write to it.
var ErrForeign = errors.New("not owned by you")

// check returns ErrForeign unless the directory belongs to this user alone.
func check(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !isOwn(info) {
		return ErrForeign
	}
	return nil
}

// Prepare creates a directory that belongs to this user alone. The error wraps ErrForeign if there
// is one that does not.
func Prepare(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return check(dir)
}
