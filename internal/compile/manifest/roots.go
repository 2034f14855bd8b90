package manifest

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// checkRoots warns of a host whose working directory is in none of the roots of its permissions. A
// root below the working directory is enough, unless the working directory contains the manifest:
// then a root in the directory of the manifest probably should be relative to the working
// directory.
func (r *reader) checkRoots(h *Host, n *node, shown string) {
	var c struct {
		Dir         string `json:"working_dir"`
		Permissions struct {
			Read, Write []string
			Default     string
		}
	}
	// Wrong types were reported before, so that an error has no further meaning.
	if json.Unmarshal(h.Config, &c) != nil || c.Permissions.Default == "allow" {
		return
	}
	dir, roots := path.Join(".", c.Dir), slices.Concat(c.Permissions.Read, c.Permissions.Write)
	covered := func(root string) bool {
		if !isRelative(root) {
			return true // it cannot be compared here
		}
		return contains(root, dir) || contains(dir, root) && (!isAbove(dir) || isAbove(root))
	}
	if len(roots) == 0 || !isRelative(c.Dir) || slices.ContainsFunc(roots, covered) {
		return
	}
	at := n.child("working_dir")
	if at == nil {
		at = n.child("permissions")
	}
	r.add(diag.OutsideRoots.At(at.key, "the working directory `%s` of [%s] is in none of its roots, so that `read` and `write` permit nothing there", dir, shown).
		Hint("all paths are relative to the manifest: write `read = [%q]`, and the directories that it may change as `write = [%q]`", dir, path.Join(dir, "src")))
}

// isRelative reports whether a path is relative to the manifest on every system.
func isRelative(p string) bool {
	return !path.IsAbs(p) && !strings.HasPrefix(p, "~") && !strings.ContainsAny(p, `:\\`)
}

// contains reports whether dir is or contains p. Both are relative to the directory of the
// manifest, which is assumed to be deep enough for their `..`.
func contains(dir, p string) bool {
	here := strings.Repeat("/d", 32)
	dir, p = path.Join(here, dir), path.Join(here, p)
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// isAbove reports whether a relative path leaves the directory of the manifest.
func isAbove(p string) bool { return !contains(".", p) }
