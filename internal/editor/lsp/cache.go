package lsp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// cacheText writes a text to a read-only file in the cache directory and returns the URI of the
// file. It returns "" if no cache directory is writable.
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
	_ = os.Remove(path) // remove an outdated file, which is read-only
	if os.WriteFile(path, text, 0o400) != nil {
		return ""
	}
	return fileURI(path)
}

// isCached reports whether a path is in the cache directory. The diagnostics of a cached file are
// not shown, because the file belongs to the library.
func (o *Options) isCached(path string) bool {
	return o.Cache != "" && strings.HasPrefix(path, o.Cache+string(filepath.Separator))
}

// explanationURI returns the URI of a file that explains a diagnostic code, or "" if there is none.
func (o *Options) explanationURI(code string) protocol.DocumentURI {
	if o.Explain == nil {
		return ""
	}
	return o.cacheText("explain/"+code+".md", []byte(o.Explain(code)))
}
