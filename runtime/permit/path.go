package permit

import (
	"os"
	"path/filepath"
)

// Real is where a path leads: absolute, with every link on the way followed as
// far as the path exists. The last element, where it is a link, is followed only
// with last: what removes or moves a link does not.
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
	// It is not there, or a link that leads to what is not there: to write it
	// makes that.
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

// maxLinks bounds how many links that lead to nothing are followed; more are a
// circle, which no one can open.
const maxLinks = 40

// Below says whether a path is root or in it; both are Real.
func Below(root, path string) bool {
	name, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(name)
}

// reals are paths as they lead somewhere; relative ones start at dir.
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

// common are the trees that are in one of a and one of b: of two of which one is
// in the other, the inner one.
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
