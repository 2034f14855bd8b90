package main

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/web/build"
)

// mostScript bounds what all parts and what they are built of weigh, packed, without the
// terminal's own module: a page adds its own to that, and all must stay below 60 kB.
const mostScript = 44 << 10

func TestThePartsAreLight(t *testing.T) {
	web := os.DirFS("../")
	names, err := fs.Glob(web, "parts/*.js")
	if err != nil || len(names) < 15 {
		t.Fatalf("%d parts, %v", len(names), err)
	}
	built, err := build.Build(build.Input{Tree: map[string]fs.FS{"": web}, Entries: names})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, data := range built.Files {
		if ext := path.Ext(name); ext != ".js" && ext != ".mjs" || strings.HasPrefix(name, "vendor/xterm") {
			continue
		}
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		total += packed.Len()
	}
	if total > mostScript {
		t.Errorf("all parts weigh %d bytes; %d are the most", total, mostScript)
	}
	t.Logf("all parts weigh %d bytes", total)
}
