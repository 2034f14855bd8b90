package driver

import (
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/sema"
)

// In a web page there are no packages: it has neither git nor a cache, and its module must be
// small.

// loadPackages reports [dependencies].
func (in *Input) loadPackages(PackageSource) error {
	m := in.Manifest
	if m == nil || len(m.Dependencies) == 0 {
		return nil
	}
	in.packagesFailed = true
	in.Diagnostics.Add(diag.PackageUnusable.At(m.Dependencies[0].At[""].Key, "packages are not available here").In(m.File).
		Hint("copy the code into the project"))
	return nil
}

// semaPackages returns the required packages without their content, so that their names are no
// errors.
func (in *Input) semaPackages() (all []*sema.Package, deps map[string]sema.Dep, l diag.List) {
	if in.packagesFailed {
		deps = map[string]sema.Dep{}
		for _, d := range in.Manifest.Dependencies {
			deps[d.Name] = sema.Dep{Source: in.Manifest.File, At: d.At[""].Key}
		}
	}
	return nil, deps, l
}

func (in *Input) needsProof() bool { return false }

func (in *Input) provePermissions(*sema.Program, *diag.List) {}

func (in *Input) findPackage(string) (address string, fix diag.Fix, ok bool) { return "", fix, false }
