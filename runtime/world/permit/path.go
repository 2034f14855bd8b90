package permit

import (
	"os"
	"path/filepath"
)

// Real returns the absolute path to which a path refers. It follows every link, as far as the path
// exists. If the last element is a link, it is followed only if last is true, because removing or
// moving a link affects the link itself.
func Real(path string, last bool) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = filepath.Clean(path)
	}
	dir, name := filepath.Split(abs)
	dir = filepath.Clean(dir)
	if name == "" || dir == abs {
		return abs
	}
	if last {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return real
		}
	}
	at := filepath.Join(Real(dir, true), name)
	if !last {
		return at
	}
	// The path does not exist, or it is a link to a path that does not exist and that writing would
	// create.
	for range maxLinks {
		target, err := os.Readlink(at)
		if err != nil {
			return at
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		at = filepath.Join(Real(filepath.Dir(target), true), filepath.Base(target))
	}
	return at
}

// maxLinks is the maximum number of dangling links that are followed one after another. A longer
// chain is treated as a cycle, which cannot be opened.
const maxLinks = 40

// Below reports whether a path is root or below it. Both must be results of Real.
func Below(root, path string) bool {
	name, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(name)
}

// reals returns the paths in the form of Real. Relative paths start at dir.
func reals(names []string, dir string) []string {
	out := []string{}
	for _, n := range names {
		if n = filepath.FromSlash(n); !filepath.IsAbs(n) {
			n = filepath.Join(dir, n)
		}
		out = append(out, Real(n, true))
	}
	return out
}

// common returns the trees that are contained in both a and b. If a tree of one list contains a
// tree of the other, the result contains the inner tree.
func common(a, b []string) []string {
	out := []string{}
	for _, x := range a {
		for _, y := range b {
			switch {
			case Below(y, x):
				out = append(out, x)
			case Below(x, y):
				out = append(out, y)
			}
		}
	}
	return out
}
