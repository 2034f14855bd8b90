package files

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestAttach checks that the media type of a file depends on its content and not on its name.
func TestAttach(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.txt": "\x89PNG\r\n\x1a\nx", "b": "\xff\xd8\xffx", "c": "GIF89ax", "d": "RIFF....WEBPx", "e": "%PDF-1.7", "f.png": "é\n", "empty": "",
		"bad": "a\xff", "nul": "a\x00b", "sub/x": "x", "RIFF": "RIFF",
	})
	large, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(effect.MaxAttached + 1); err != nil {
		t.Fatal(err)
	}
	if err := large.Close(); err != nil {
		t.Fatal(err)
	}
	f := New(Options{Dir: dir, Read: []string{dir}})
	for path, want := range map[string]string{
		"a.txt": "a.txt image/png 9 iVBORw0KGgp4", "b": "b image/jpeg 4 /9j/eA==", "c": "c image/gif 7 R0lGODlheA==", "d": "d image/webp 13 UklGRi4uLi5XRUJQeA==",
		"e": "e application/pdf 8 JVBERi0xLjc=", "f.png": "f.png text/plain 3 é\n", "empty": "empty text/plain 0 ", "sub/../sub/x": "x text/plain 1 x",
		"RIFF":      "RIFF text/plain 4 RIFF",
		"bad":       "cannot attach bad: it is not an image (PNG, JPEG, GIF, WebP), a PDF or UTF-8 text",
		"nul":       "cannot attach nul: it is not an image (PNG, JPEG, GIF, WebP), a PDF or UTF-8 text",
		"none":      "cannot attach none: it is not there",
		"sub":       "cannot attach sub: it is a directory",
		"large":     "cannot attach large: it is larger than 20 MiB",
		"/dev/null": "/dev/null is not permitted",
	} {
		got := ""
		r, err := f.Perform(t.Context(), &effect.AttachFile{Path: path})
		if err != nil {
			got = err.Error()
		} else {
			x := r.(*effect.AttachedFile)
			got = strings.Join([]string{x.Name, x.Type, strconv.FormatInt(x.Size, 10), x.Data}, " ")
			if len(x.SHA256) != 64 {
				t.Errorf("file %s: hash = %q, want 64 characters", path, x.SHA256)
			}
		}
		if got != want {
			t.Errorf("file %s:\n got %q\nwant %q", path, got, want)
		}
	}
	if _, err := New(Options{}).Perform(t.Context(), &effect.AttachFile{Path: os.DevNull}); err == nil || !strings.HasSuffix(err.Error(), "it is not a regular file") {
		t.Errorf("attaching a device: error %v, want that it is not a regular file", err)
	}
}
