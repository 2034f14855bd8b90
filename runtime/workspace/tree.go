package workspace

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// tree is the state of a directory that can be determined without reading files.
type tree struct{ entries map[string]stamp }

// stamp is a value that changes when an entry changes.
type stamp struct {
	mode fs.FileMode
	size int64
	// times of the last changes of the content and of the metadata; moved is 0 if it is unknown
	written, moved int64
	target         string
}

func (t *tree) equalTo(now *tree) bool { return maps.Equal(t.entries, now.entries) }

// scanTree returns the current tree of a directory.
func scanTree(ctx context.Context, root string) (*tree, error) {
	t := &tree{entries: map[string]stamp{}}
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
		t.entries[at] = s
		return nil
	})
	return t, err
}
