package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stamp is a value that changes when an entry changes.
type stamp struct {
	mode fs.FileMode
	size int64
	// times of the last changes of the content and of the metadata; moved is 0 if it is unknown
	written, moved int64
	target         string
}

// scanTree returns a hash of the state of a directory, without reading its files.
func scanTree(ctx context.Context, root string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s := stamp{mode: info.Mode(), size: info.Size(), written: info.ModTime().UnixNano(), moved: movedAt(info)}
		if e.Type() == fs.ModeSymlink {
			if s.target, err = os.Readlink(at); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(root, at)
		fmt.Fprintf(sum, "%q %+v %q\n", rel, s, s.target) // quoted: no name looks like two
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
