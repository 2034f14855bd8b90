package release

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/web"
)

// List is the content of release.json.
type List struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"` // of the commit, as in RFC 3339
	Files   []File `json:"files"`
}

// File is a file of a release.
type File struct {
	Name   string `json:"name"` // path with /
	Kind   string `json:"kind"` // archive, sbom, installer, npm, container, page or checksums
	OS     string `json:"os"`   // as in GOOS; "" for any
	Arch   string `json:"arch"` // as in GOARCH; "" for any
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// ReadList reads the list of the release in a directory.
func ReadList(dir string) (*List, error) {
	text, err := os.ReadFile(filepath.Join(dir, listFile))
	if err != nil {
		return nil, err
	}
	l := &List{}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("%s: %w", listFile, err)
	}
	return l, nil
}

// writeChecksums writes the hashes of all files so far, as `sha256sum -c` reads them.
func (r *release) writeChecksums(_ *parts, file string) error {
	r.sortList()
	return create(file, func(w io.Writer) error {
		for _, f := range r.list {
			if _, err := fmt.Fprintf(w, "%s  %s\n", f.SHA256, f.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// writePageHashes writes the hashes of the files that the relay's server serves as its page, by
// their paths without the leading slash. `concerto-relay page --verify` compares the files.
func (r *release) writePageHashes(_ *parts, file string) error {
	page, err := web.Open(os.DirFS(filepath.Join(r.source, "relay", "web", "dist")))
	if err != nil {
		return err
	}
	files := page.Files()
	return create(file, func(w io.Writer) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if _, err := fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(files[name]), strings.TrimPrefix(name, "/")); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeList writes release.json.
func (r *release) writeList() error {
	r.sortList()
	l := List{r.version, r.commit, r.date.Format(time.RFC3339), r.list}
	if err := create(r.path(listFile), func(w io.Writer) error { return writeJSON(w, l) }); err != nil {
		return err
	}
	return os.Chmod(r.path(listFile), fileMode)
}

func (r *release) sortList() {
	slices.SortFunc(r.list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// replace renames the directory made to out, which may be an earlier release. At any time, out is
// complete or does not exist.
func replace(out, made string) error {
	old := made + ".old"
	if err := os.Rename(out, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(made, out); err != nil {
		return errors.Join(err, os.Rename(old, out))
	}
	return os.RemoveAll(old)
}
