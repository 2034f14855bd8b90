//go:build !js

package driver

import (
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
)

// DiagnosticsError contains the errors of a manifest or of the code of packages.
type DiagnosticsError struct{ Found diag.List }

func (e *DiagnosticsError) Error() string {
	return fmt.Sprintf("%d errors", e.Found.Errors())
}

// Project is a manifest with the directory that contains it.
type Project struct {
	Manifest *manifest.Manifest
	Root     string // absolute path
}

// ReadProject reads the nearest manifest, in dir or a directory above it, for a command that needs
// no program. It returns nil if there is none. The error is a *DiagnosticsError if the manifest
// contains errors, so that no command acts on a part of it.
func ReadProject(dir string) (*Project, error) {
	in, err := newInput(Request{Dir: dir})
	if err != nil {
		return nil, err
	}
	path, found := manifest.LocateProject(in.dir, in.exists)
	if !found {
		return nil, nil
	}
	if err := in.manifest(path); err != nil {
		return nil, err
	}
	in.checkRelease()
	if in.Diagnostics.HasErrors() {
		return nil, &DiagnosticsError{in.Diagnostics}
	}
	return &Project{in.Manifest, filepath.Clean(in.Root)}, nil
}
