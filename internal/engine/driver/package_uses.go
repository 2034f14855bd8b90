//go:build !js

package driver

import (
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages/uses"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// PackageUses checks a program and returns what each of its packages may use. If the list contains
// errors, there is no result.
func PackageUses(in *Input) (map[*pkg.Package][]uses.Found, diag.List) {
	checked, l := in.sound()
	if checked == nil {
		return nil, l
	}
	a, out := uses.New(checked), map[*pkg.Package][]uses.Found{}
	for i, p := range in.Packages {
		out[p.Package] = a.Of(in.checkedPackages[i])
	}
	return out, l
}

// provePermissions reports packages whose code may use more than the [permissions] of their own
// manifest.
func (in *Input) provePermissions(checked *sema.Program, l *diag.List) {
	var a *uses.Analyzer
	for i, p := range in.Packages {
		granted := p.Manifest.Permissions
		if granted == nil {
			continue
		}
		if a == nil {
			a = uses.New(checked)
		}
		found := a.Of(in.checkedPackages[i])
		all := uses.Uses(found)
		for _, f := range found {
			if !slices.Contains(all, f.Use) || isGranted(granted, f.Use) {
				continue
			}
			d := diag.PackageUnusable.At(source.Span{Start: f.At, End: f.At}, "`%s` uses %s, which its [permissions] do not allow", p.Key, f.Use).In(f.File)
			l.Add(d.Hint("the package must allow it in its %s, or not use it", manifest.FileName))
			all = slices.DeleteFunc(all, func(u pkg.Use) bool { return u == f.Use })
		}
	}
}

// needsProof reports whether a package has [permissions].
func (in *Input) needsProof() bool {
	return slices.ContainsFunc(in.Packages, func(p *Package) bool { return p.Manifest != nil && p.Manifest.Permissions != nil })
}

// isGranted reports whether the [permissions] of a package allow a use. "*" allows any target. The
// kinds without a key are not limited by [permissions].
func isGranted(granted *manifest.Permissions, u pkg.Use) bool {
	target, hasTarget := u.Target()
	var list []string
	switch u.Kind() {
	case "read", "write":
		list = granted.FS
	case "net":
		list = granted.Net
	case "env":
		list = granted.Env
	case "run":
		list = granted.Run
		if list == nil {
			list = []string{}
		}
	default:
		return true
	}
	if list == nil {
		return granted.Default != "deny"
	}
	for _, x := range list {
		if x == "*" {
			return true
		}
		if !hasTarget {
			continue
		}
		switch u.Kind() {
		case "read", "write":
			if isBelow(path.Clean(x), target) {
				return true
			}
		case "net":
			if host, _, hasPort := strings.Cut(target, ":"); x == target || hasPort && x == host {
				return true
			}
		default:
			if x == target {
				return true
			}
		}
	}
	return false
}

// isBelow reports whether a path is a directory or below it. Both are relative to the same one, or
// absolute.
func isBelow(dir, name string) bool {
	if dir == "." {
		return !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
	}
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
