package lsp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// cacheText writes a text without a file to a read-only file in the cache directory, and returns
// its URI, or "" if there is no writable one.
func (o *Options) cacheText(name string, text []byte) protocol.DocumentURI {
	if o.Cache == "" {
		return ""
	}
	path := filepath.Join(o.Cache, filepath.FromSlash(name))
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, text) {
		return fileURI(path)
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return ""
	}
	_ = os.Remove(path) // one that must not be written
	if os.WriteFile(path, text, 0o400) != nil {
		return ""
	}
	return fileURI(path)
}

// isCached reports whether a path is that of such a file. Diagnostics in it are not shown, because
// it belongs to the library.
func (o *Options) isCached(path string) bool {
	return o.Cache != "" && strings.HasPrefix(path, o.Cache+string(filepath.Separator))
}

// explanationURI returns the file that explains a code, or "" if there is none.
func (o *Options) explanationURI(code string) protocol.DocumentURI {
	if o.Explain == nil {
		return ""
	}
	return o.cacheText("explain/"+code+".md", []byte(o.Explain(code)))
}
