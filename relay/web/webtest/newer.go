package webtest

import (
	"io/fs"
	"testing/fstest"

	"github.com/concerto-lang/concerto/web"
)

// Newer makes the server serve another build of the page after the next Restart. It contains an
// additional file, so the build has another name.
func (r *Relay) Newer() {
	r.T.Helper()
	newer := fstest.MapFS{web.Assets + "/newer/LICENSE": &fstest.MapFile{Data: []byte("of a newer page")}}
	err := fs.WalkDir(r.page, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(r.page, name)
		newer[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	r.page = newer
}
