package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/concerto-lang/concerto/tools/web/build"
)

// mostScript is the maximum compressed size, in bytes, of all parts and their dependencies without
// the terminal module. A page adds its own modules, and the total must stay below 60 kB.
const mostScript = 33_000

func TestSizeOfParts(t *testing.T) {
	web := os.DirFS("../../../web")
	names, err := fs.Glob(web, "parts/*.js")
	if err != nil || len(names) < 15 {
		t.Fatalf("number of parts = %d, error %v", len(names), err)
	}
	var all strings.Builder
	for i, name := range names {
		if name != "parts/xterm.js" && name != "parts/editor.js" { // only some pages load them
			fmt.Fprintf(&all, "export * as part%d from %q;\n", i, name)
		}
	}
	page := fstest.MapFS{"all.js": {Data: []byte(all.String())}}
	built, err := build.Build(build.Input{Tree: map[string]fs.FS{"": web, "test": page}, Entries: []string{"test/all.js"}})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, name := range built.Needs["test/all.js"] {
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(built.Files[name]); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		total += packed.Len()
	}
	if total > mostScript {
		t.Errorf("compressed size of all parts = %d bytes, the maximum is %d", total, mostScript)
	}
	t.Logf("compressed size of all parts = %d bytes", total)
}
