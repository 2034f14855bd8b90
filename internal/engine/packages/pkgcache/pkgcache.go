// Package pkgcache stores the files of packages below a directory of the user, by their hashes
// (spec/46-packages.md). It also reads copies in a project's vendor directory. Files are written
// under a temporary name and then renamed, so that parallel commands need no lock.
package pkgcache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Variable is the environment variable with the path of the cache.
const Variable = "CONCERTO_CACHE"

// VendorDir is the name of the directory with copies of the packages, next to the manifest.
const VendorDir = "vendor"

// Cache is the directory of the cache. The zero value uses the default one.
type Cache struct{ dir string }

// At returns the cache in a directory, or the default cache if dir is "".
func At(dir string) Cache { return Cache{dir} }

// Dir returns the directory: that of the environment variable Variable, or `concerto` in the
// system's directory for caches.
func (c Cache) Dir() (string, error) {
	if c.dir != "" {
		return c.dir, nil
	}
	if dir := os.Getenv(Variable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", pkg.Errorf(pkg.Unavailable, "set "+Variable+" to a directory", "the system has no directory for caches: %v", err)
	}
	return filepath.Join(dir, "concerto"), nil
}

// PackageDir returns the directory of the package with a hash.
func (c Cache) PackageDir(hash string) (string, error) {
	name, ok := pkg.HashDirectory(hash)
	if !ok {
		return "", fs.ErrNotExist
	}
	dir, err := c.Dir()
	return filepath.Join(dir, "packages", name), err
}

// Read returns the files of the package with a hash, and its directory. It does not compare the
// hash. The error wraps fs.ErrNotExist if the package is not in the cache.
func (c Cache) Read(hash string) (files []pkg.File, dir string, err error) {
	if dir, err = c.PackageDir(hash); err != nil {
		return nil, "", err
	}
	files, err = ReadTree(dir)
	return files, dir, err
}

// ReadTree returns the files below a directory. Something other than a file or a directory is
// returned as a file without content, so that the hash differs.
func ReadTree(dir string) ([]pkg.File, error) {
	var files []pkg.File
	var read func(dir, prefix string) error
	read = func(dir, prefix string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := prefix + e.Name()
			switch {
			case e.IsDir():
				if err := read(filepath.Join(dir, e.Name()), name+"/"); err != nil {
					return err
				}
			case e.Type().IsRegular():
				data, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					return err
				}
				files = append(files, pkg.File{Name: name, Data: data})
			default:
				files = append(files, pkg.File{Name: name})
			}
		}
		return nil
	}
	err := read(dir, "")
	return files, err
}

// Write stores a package and returns its hash. A package that is already stored is replaced only if
// its content differs from the hash. The error is a *pkg.Error.
func (c Cache) Write(files []pkg.File) (hash string, err error) {
	hash = pkg.Hash(files)
	dir, err := c.PackageDir(hash)
	if err != nil {
		return "", unwritable(err)
	}
	if stored, err := ReadTree(dir); err == nil {
		if pkg.Hash(stored) == hash {
			return hash, nil
		}
		if err := c.discard(dir); err != nil {
			return "", unwritable(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", unwritable(err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".new-*")
	if err != nil {
		return "", unwritable(err)
	}
	defer func() { _ = os.RemoveAll(temporary) }() // the rename has moved it, or it is not needed
	if err := os.Chmod(temporary, 0o755); err != nil {
		return "", unwritable(err)
	}
	if err := WriteTree(temporary, files); err != nil {
		return "", unwritable(err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		stored, _, readErr := c.Read(hash)
		if readErr != nil || pkg.Hash(stored) != hash { // otherwise another command has stored it
			return "", unwritable(err)
		}
	}
	return hash, nil
}

// Known is a package that was fetched: where it comes from, and its highest fetched version.
type Known struct {
	Git     string `json:"git"`
	Dir     string `json:"dir"`
	Version string `json:"version"`
}

// Note records where a package comes from, by the name under which projects require it. The record
// only serves suggestions, so that errors are ignored.
func (c Cache) Note(name string, k Known) {
	path, err := c.namePath(name)
	v, isVersion := pkg.ParseVersion(k.Version)
	if err != nil || !isVersion {
		return
	}
	if old, ok := c.Known(name); ok {
		if w, _ := pkg.ParseVersion(old.Version); old.Git == k.Git && old.Dir == k.Dir && w.Compare(v) >= 0 {
			return
		}
	}
	text, err := json.Marshal(k)
	if err == nil && os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		_ = userfile.Replace(path, text, 0o644)
	}
}

// Known returns a recorded package by its name.
func (c Cache) Known(name string) (k Known, ok bool) {
	path, err := c.namePath(name)
	if err != nil {
		return k, false
	}
	text, err := userfile.Read(path, userfile.MaxText)
	if err != nil || json.Unmarshal(text, &k) != nil {
		return Known{}, false
	}
	_, err = pkg.ParseAddress(k.Git)
	_, isVersion := pkg.ParseVersion(k.Version)
	return k, err == nil && isVersion && pkg.CheckDir(k.Dir) == ""
}

func (c Cache) namePath(name string) (string, error) {
	if pkg.CheckName(name) != "" || strings.Contains(name, "/") {
		return "", fs.ErrNotExist
	}
	dir, err := c.Dir()
	return filepath.Join(dir, "names", name+".json"), err
}

// discard removes a stored package whose content has changed.
func (c Cache) discard(dir string) error {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".old-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }() // it is not part of the cache any more
	err = os.Rename(dir, filepath.Join(temporary, "package"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another command has moved it
	}
	return err
}

// WriteTree writes files with mode 0444 below a directory that exists.
func WriteTree(dir string, files []pkg.File) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o444); err != nil {
			return err
		}
	}
	return nil
}

func unwritable(err error) error {
	var known *pkg.Error
	if errors.As(err, &known) {
		return err
	}
	return pkg.Errorf(pkg.Unavailable, "set "+Variable+" to a directory that can be written", "cannot write to the cache of packages: %v", err)
}

// Vendored returns the vendor directory of the project in root, or "" if it has none that Concerto
// has written.
func Vendored(root string) string {
	dir := filepath.Join(root, VendorDir)
	if info, err := os.Stat(filepath.Join(dir, pkg.LockFile)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return dir
}

// VendorName returns the path of a package's copy in the vendor directory, with slashes: the host
// and the path of the repository, the directory of the package after a `#`, and the version after
// an `@`.
func VendorName(p *pkg.Locked) string {
	address := p.Address().Key
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	}
	version := p.Version
	if version == pkg.CommitVersion {
		version = p.Commit[:12]
	}
	name := pkg.JoinDir(strings.Trim(address, "/"), p.Dir) + "@" + version
	parts := strings.Split(name, "/")
	for i, part := range parts {
		var b strings.Builder
		for _, r := range part {
			if strings.ContainsRune("<>:\"|?*\\%", r) || r < ' ' {
				fmt.Fprintf(&b, "%%%02X", r)
			} else {
				b.WriteRune(r)
			}
		}
		parts[i] = b.String()
		if strings.Trim(parts[i], ".") == "" {
			parts[i] = "%2E" + parts[i]
		}
	}
	return strings.Join(parts, "/")
}
