// Command playground builds the playground: a directory of static files that work at any path of a
// web server. It contains the page, the WebAssembly module with the compiler, the analysis and the
// virtual machine, and each file also compressed.
//
//	playground [-o DIR] [-plain] [-update]
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"github.com/concerto-lang/concerto/internal/playground/server"
	"github.com/concerto-lang/concerto/tools/playground/samples"
	"github.com/concerto-lang/concerto/tools/web/build"
)

func main() {
	out := flag.String("o", "bin/playground", "the `directory` that is written")
	plain := flag.Bool("plain", false, "do not compress the files")
	update := flag.Bool("update", false, "write the sizes of the module to "+sizesFile)
	flag.Parse()
	err := run(".", *out, *plain)
	if err == nil && !*plain {
		err = checkSizes(*out, *update)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

// run builds the playground of the repository in root into a directory.
func run(root, out string, plain bool) error {
	files, err := pageFiles(root)
	if err != nil {
		return err
	}
	module, err := compile(root)
	if err != nil {
		return err
	}
	files[server.Module] = module
	files[server.Index] = bytes.Replace(files[server.Index], []byte("SIZE"), []byte(strconv.Itoa(len(module))), 1)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	written := map[string]bool{}
	for name, data := range files {
		if err := write(out, name, data, plain, written); err != nil {
			return err
		}
	}
	return sweep(out, written)
}

// small are the packages that are compiled without inlining, which makes the module smaller by a
// twelfth. fast are those of them that are compiled with it: programs spend their time in the
// first two, and without it, ir builds its table of operations by 100 kB of code.
var (
	small = []string{"all"}
	fast  = []string{module + "vm", module + "internal/data/value", module + "ir"}
)

const module = "github.com/concerto-lang/concerto/"

// compile returns the WebAssembly module.
func compile(root string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "playground-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}
	for _, p := range small {
		args = append(args, "-gcflags="+p+"=-l")
	}
	for _, p := range fast {
		args = append(args, "-gcflags="+p+"=")
	}
	file := filepath.Join(dir, "concerto.wasm")
	c := exec.Command("go", append(args, "-o", file, module+"cmd/concerto-playground")...)
	c.Dir = root
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=", "GOWASM=")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("build the module: %w", err)
	}
	return os.ReadFile(file)
}

// pageFiles returns the files of the page.
func pageFiles(root string) (map[string][]byte, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	goroot := filepath.Join(strings.TrimSpace(string(out)), "lib")
	web := os.DirFS(filepath.Join(root, "web"))
	own, err := fs.Sub(web, "playground")
	if err != nil {
		return nil, err
	}
	scripts, err := build.Build(build.Input{
		Tree:    map[string]fs.FS{"": web, "playground": own, "go": os.DirFS(filepath.Join(goroot, "wasm"))},
		Entries: []string{"playground/main.js", "playground/worker.js", "style.css", "playground/page.css"},
	})
	if err != nil {
		return nil, err
	}
	files := scripts.Files
	if files["playground/zoneinfo.zip"], err = os.ReadFile(filepath.Join(goroot, "time", "zoneinfo.zip")); err != nil {
		return nil, err
	}
	for name, in := range map[string]string{server.Index: "index.html", "about.html": "about.html", "icon.svg": "icon.svg", "playground/boot.js": "boot.js"} {
		text, err := fs.ReadFile(own, in)
		if err != nil {
			return nil, err
		}
		files[name] = bytes.ReplaceAll(text, []byte("POLICY"), []byte(server.Policy))
	}
	all, err := samples.Offered(root)
	if err != nil {
		return nil, err
	}
	files["playground/examples.json"], err = json.Marshal(all)
	return files, err
}

// packers are the encodings of files.
var packers = []struct {
	end  string
	pack func(io.Writer) io.WriteCloser
}{
	{".br", func(w io.Writer) io.WriteCloser {
		return brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
	}},
	{".gz", func(w io.Writer) io.WriteCloser {
		g, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			panic(err) // the level is valid
		}
		return g
	}},
}

// smallest is the size of the smallest file that is compressed.
const smallest = 1 << 10

// write writes a file with its compressed forms. It does not compress a file that has not changed.
func write(dir, name string, data []byte, plain bool, written map[string]bool) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	written[name] = true
	old, err := os.ReadFile(file)
	same := err == nil && bytes.Equal(old, data)
	if !same {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	if plain || len(data) < smallest || name == server.Index {
		return nil
	}
	for _, p := range packers {
		written[name+p.end] = true
		if _, err := os.Stat(file + p.end); same && err == nil {
			continue
		}
		var b bytes.Buffer
		w := p.pack(&b)
		if _, err := w.Write(data); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(file+p.end, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes the files of an earlier build that this one has not written.
func sweep(dir string, written map[string]bool) error {
	return filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || written[filepath.ToSlash(name)] {
			return err
		}
		return os.Remove(file)
	})
}
