package packages

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/compile/pkg/tree"
	"github.com/concerto-lang/concerto/internal/process/git"
)

// maxTree is the maximum size of a tree object in bytes: 10,000 entries with long names.
const maxTree = 16 << 20

// readPackage reads the files of a package from the fetched commit, and checks them.
func readPackage(objects *git.Objects, w *want) (*fetched, error) {
	commit, err := objects.Read(target+"^{commit}", maxTree)
	var missing *git.MissingObjectError
	switch {
	case errors.As(err, &missing):
		return nil, pkg.Errorf(pkg.Refused, "require another version", "%s of %s does not name a commit", w.tag(), w.address.Text)
	case err != nil:
		return nil, unreadable(w, err)
	}
	line, _, _ := bytes.Cut(commit.Data, []byte("\n"))
	top, found := bytes.CutPrefix(line, []byte("tree "))
	if !found {
		return nil, pkg.Errorf(pkg.Unavailable, "", "%s sent a commit that cannot be read", w.address.Text)
	}
	root := string(top)
	if w.dir != "" {
		object, err := objects.Read(commit.ID+":"+w.dir, maxTree)
		switch {
		case errors.As(err, &missing) || err == nil && object.Kind != "tree":
			return nil, pkg.Errorf(pkg.Refused, "correct `dir`, or require another version", "%s has no directory %s at %s", w.address.Text, w.dir, w.tag())
		case err != nil:
			return nil, unreadable(w, err)
		}
		root = object.ID
	}
	t := &treeReader{objects: objects}
	if err := t.list(root, ""); err != nil {
		return nil, unreadable(w, err)
	}
	if reason := tree.Check(t.entries); reason != "" {
		return nil, pkg.Unusable(w.name, reason)
	}
	files, err := t.read()
	if err != nil {
		return nil, unreadable(w, err)
	}
	if reason := tree.Check(t.entries); reason != "" { // the sizes are known now
		return nil, pkg.Unusable(w.name, reason)
	}
	return &fetched{files, commit.ID, pkg.Hash(files)}, nil
}

func unreadable(w *want, err error) error {
	var known *pkg.Error
	if errors.As(err, &known) {
		return err
	}
	return unavailable(w.address, err)
}

// treeReader lists and reads the files of a tree.
type treeReader struct {
	objects *git.Objects
	entries []tree.Entry
	ids     []string // ids of the entries
}

// list adds the entries of a tree and of its subtrees. It stops when there are too many.
func (t *treeReader) list(id, prefix string) error {
	object, err := t.objects.Read(id, maxTree)
	if err != nil {
		return err
	}
	size := len(object.ID) / 2
	for rest := object.Data; len(rest) > 0 && len(t.entries) <= tree.MaxFiles; {
		mode, after, found := bytes.Cut(rest, []byte(" "))
		name, after, ended := bytes.Cut(after, []byte{0})
		if !found || !ended || len(after) < size {
			return errors.New("a tree cannot be read")
		}
		entry, child := tree.Entry{Name: prefix + string(name)}, hex.EncodeToString(after[:size])
		rest = after[size:]
		switch string(mode) {
		case "40000":
			if reason := pkg.CheckName(entry.Name); reason == "" && strings.Count(entry.Name, "/") < 100 {
				if err := t.list(child, entry.Name+"/"); err != nil {
					return err
				}
				continue
			} // tree.Check refuses the name
		case "120000":
			entry.Kind = tree.SymbolicLink
		case "160000":
			entry.Kind = tree.Submodule
		}
		t.entries, t.ids = append(t.entries, entry), append(t.ids, child)
	}
	return nil
}

// read reads all files, and sets the sizes of the entries. It stops at a file that is too large, or
// if all are together.
func (t *treeReader) read() ([]pkg.File, error) {
	var files []pkg.File
	var all int64
	for i := range t.entries {
		blob, err := t.objects.Read(t.ids[i], tree.MaxFileBytes)
		var large *git.LargeObjectError
		if errors.As(err, &large) {
			t.entries[i].Size = large.Size
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		t.entries[i].Size = int64(len(blob.Data))
		if all += t.entries[i].Size; all > tree.MaxBytes {
			return nil, nil
		}
		files = append(files, pkg.File{Name: t.entries[i].Name, Data: blob.Data})
	}
	return files, nil
}
