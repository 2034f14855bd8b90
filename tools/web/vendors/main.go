// Command vendors downloads the published packages of web/vendor and tools/browser/axe with npm,
// and verifies that the files in the repository equal the published ones byte for byte. It writes
// missing files; a file that differs is an error.
//
//	vendors DIR…
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/tools/web/build"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: vendors DIR…")
		os.Exit(2)
	}
	for _, dir := range os.Args[1:] {
		if err := vendor(dir); err != nil {
			fmt.Fprintln(os.Stderr, "vendors:", err)
			os.Exit(1)
		}
	}
}

// vendor checks the directory of one package against its source.json.
func vendor(dir string) error {
	s, err := build.ReadSource(os.DirFS(dir), build.SourceFile)
	if err != nil {
		return err
	}
	published, err := fetch(s.Package + "@" + s.Version)
	if err != nil {
		return err
	}
	for _, f := range s.Files {
		data, ok := published["package/"+f.From]
		if !ok {
			return fmt.Errorf("%s@%s has no file %s", s.Package, s.Version, f.From)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != f.SHA256 {
			return fmt.Errorf("%s of %s@%s has the hash %s; %s requires %s", f.From, s.Package, s.Version, sum, filepath.Join(dir, build.SourceFile), f.SHA256)
		}
		if err := writeFile(filepath.Join(dir, f.Name), data); err != nil {
			return err
		}
	}
	fmt.Printf("%s@%s: %d files are as published\n", s.Package, s.Version, len(s.Files))
	return nil
}

// writeFile writes a file that does not exist. If the file exists, it must have the same contents.
func writeFile(name string, data []byte) error {
	old, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(name, data, 0o666)
	}
	if err == nil && !bytes.Equal(old, data) {
		return fmt.Errorf("%s differs from the published file: remove it and fetch again", name)
	}
	return err
}

// fetch downloads a published package and returns its files. The keys are paths in the package's
// archive.
func fetch(spec string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "vendors")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("npm", "pack", "--silent", "--pack-destination", dir, spec)
	cmd.Stderr = os.Stderr
	name, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("npm pack %s: %w", spec, err)
	}
	archive, err := os.Open(filepath.Join(dir, strings.TrimSpace(string(name))))
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	return unpack(archive)
}

func unpack(r io.Reader) (map[string][]byte, error) {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for t := tar.NewReader(plain); ; {
		h, err := t.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if out[h.Name], err = io.ReadAll(t); err != nil {
			return nil, err
		}
	}
}
