// Command gen builds a page for embedding: the modules and files that its entries need, bundled and
// compressed, and its files with fixed names. It does not rewrite a file with unchanged content,
// whichever compressor wrote it, and removes files that the page no longer needs.
//
//	gen [-plain] -o DIR -web DIR [-tree NAME=DIR…] [-root DIR…] ENTRY…
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"github.com/concerto-lang/concerto/tools/web/build"
	"github.com/concerto-lang/concerto/web"
)

func main() {
	in := build.Input{Tree: map[string]fs.FS{}}
	var roots []string
	plain := flag.Bool("plain", false, "do not compress the files")
	out := flag.String("o", "", "the `directory` that is written")
	flag.Func("web", "the `directory` of the shared parts", func(dir string) error {
		in.Tree[""] = os.DirFS(dir)
		return nil
	})
	flag.Func("tree", "`name=directory` of the page's own modules", func(s string) error {
		name, dir, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("the value must have the form NAME=DIR")
		}
		in.Tree[name] = os.DirFS(dir)
		return nil
	})
	flag.Func("root", "a `directory` of files, or a file, served under their own names", func(dir string) error {
		roots = append(roots, dir)
		return nil
	})
	flag.Parse()
	in.Entries = flag.Args()
	if *out == "" || len(in.Entries) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *plain {
		packers = []packer{{
			writer: func(w io.Writer) io.WriteCloser { return unpacked{w} },
			reader: func(r io.Reader) (io.Reader, error) { return r, nil },
		}}
	}
	if err := generate(*out, in, roots); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate builds the page into a directory.
func generate(dir string, in build.Input, roots []string) error {
	built, err := build.Build(in)
	if err != nil {
		return err
	}
	written := map[string]bool{}
	for name, data := range built.Files {
		for _, p := range packers {
			if p.most > 0 && (len(data) > p.most || path.Base(name) == "LICENSE") { // browsers load no licence
				continue
			}
			file := path.Join(web.Assets, name+p.end)
			written[file] = true
			if err := p.write(filepath.Join(dir, filepath.FromSlash(file)), data); err != nil {
				return err
			}
		}
	}
	for _, root := range roots {
		if err := copyRoot(dir, root, in, built, written); err != nil {
			return err
		}
	}
	return sweep(dir, written)
}

// packer writes files in one encoding.
type packer struct {
	end    string
	most   int // maximum size of a file in bytes; 0 means no maximum
	writer func(io.Writer) io.WriteCloser
	reader func(io.Reader) (io.Reader, error)
}

// unpacked writes data as it is.
type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }

var packers = []packer{
	// The largest file is the terminal's code, which the page loads when a user opens a terminal.
	// In this encoding it would be 15 % smaller, and the program 76 KB larger.
	{".br", 256 << 10,
		func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotli.BestCompression) },
		func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }},
	{".gz", 0,
		func(w io.Writer) io.WriteCloser {
			g, err := gzip.NewWriterLevel(w, gzip.BestCompression)
			if err != nil {
				panic(err)
			}
			return g
		},
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
}

// write writes compressed data to a file. If the file already decompresses to data, it stays
// unchanged.
func (p packer) write(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil {
		if r, err := p.reader(bytes.NewReader(old)); err == nil {
			if plain, err := io.ReadAll(r); err == nil && bytes.Equal(plain, data) {
				return nil
			}
		}
	}
	var packed bytes.Buffer
	w := p.writer(&packed)
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return put(name, packed.Bytes())
}

func put(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}

// copyRoot copies a file, or all files of a directory, without changing their names.
func copyRoot(dir, root string, in build.Input, built build.Output, written map[string]bool) error {
	files := []string{root}
	if entries, err := os.ReadDir(root); err == nil {
		files = nil
		for _, e := range entries {
			files = append(files, filepath.Join(root, e.Name()))
		}
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text := string(data)
		switch filepath.Ext(name) {
		case ".html":
			text, err = built.Page(text)
		case ".js":
			text, err = in.Script(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		file := path.Join(web.Root, filepath.Base(name))
		written[file] = true
		if err := put(filepath.Join(dir, filepath.FromSlash(file)), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes the files that an older build has written and this build has not.
func sweep(dir string, written map[string]bool) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if written[filepath.ToSlash(rel)] {
			return nil
		}
		return os.Remove(name)
	})
}
