//go:build !js

package driver

import (
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
)

// packageHash returns the hash of the files below a directory, or "" if they cannot be read.
func packageHash(dir string) string {
	files, err := pkgcache.ReadTree(dir)
	if err != nil {
		return ""
	}
	return pkg.Hash(files)
}
