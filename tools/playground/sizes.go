package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/playground/server"
)

// sizesFile contains the sizes of the module: as it is, by gzip and by brotli.
const sizesFile = "tools/playground/sizes.txt"

// maxBrotli is the maximum size of the module by brotli, in bytes.
const maxBrotli = 4_150_000

// grows reports whether a size is more than 2 % above an earlier one.
func grows(size, before int64) bool { return (size-before)*50 > before }

// checkSizes prints the sizes of the module in dir. It returns an error if the module has grown by
// more than 2 %, unless update is set, or is larger than maxBrotli.
func checkSizes(dir string, update bool) error {
	before, err := readSizes(sizesFile)
	if err != nil && !update {
		return err
	}
	var text strings.Builder
	for _, end := range []string{"", ".gz", ".br"} {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(server.Module)+end))
		if err != nil {
			return err
		}
		name := "concerto.wasm" + end
		fmt.Fprintf(&text, "%s %d\n", name, info.Size())
		if end == ".br" && info.Size() > maxBrotli {
			return fmt.Errorf("%s has %d bytes; the maximum is %d", name, info.Size(), maxBrotli)
		}
		if !update && grows(info.Size(), before[name]) {
			return fmt.Errorf("%s has %d bytes, and %s has %d: if this is intended, run `make playground UPDATE=1` and state the reason in the commit", name, info.Size(), sizesFile, before[name])
		}
	}
	fmt.Print(text.String())
	if update {
		return os.WriteFile(sizesFile, []byte(text.String()), 0o644)
	}
	return nil
}

// readSizes reads a file of sizes.
func readSizes(file string) (map[string]int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		var name string
		var size int64
		if _, err := fmt.Sscan(line, &name, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out[name] = size
	}
	return out, nil
}
