package stdlib

import (
	"path"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// pathNatives contains the functions of std::path. They process only texts, and do not access
// files.
var pathNatives = native.Table{
	{"path.join", pathJoin},
	{"path.normalize", ofPath(func(p string) value.Slot { return value.String(path.Clean(p)) })},
	{"path.parent", ofPath(func(p string) value.Slot {
		p = trimSlashes(p)
		if p == "" || p == "/" {
			return value.Nil
		}
		dir, _ := path.Split(p)
		return value.Some(value.String(trimSlashes(dir)))
	})},
	{"path.file_name", ofPath(func(p string) value.Slot { return value.String(fileName(p)) })},
	{"path.stem", ofPath(func(p string) value.Slot {
		name := fileName(p)
		return value.String(strings.TrimSuffix(name, extension(name)))
	})},
	{"path.extension", ofPath(func(p string) value.Slot {
		return value.String(strings.TrimPrefix(extension(fileName(p)), "."))
	})},
	{"path.relative", pathRelative},
}

// ofPath returns a native for a function of one path.
func ofPath(f func(p string) value.Slot) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		p := a.String(0)
		a.Pace().Bytes(len(p))
		return f(p), nil
	}
}

// trimSlashes removes slashes at the end of a path, but not the slash of the root.
func trimSlashes(p string) string {
	if t := strings.TrimRight(p, "/"); t != "" || p == "" {
		return t
	}
	return "/"
}

// fileName returns the last name of a path, or "" if it has none.
func fileName(p string) string {
	if name := path.Base(p); name != "/" && name != "." && name != ".." {
		return name
	}
	return ""
}

// extension returns the extension of a file name, including the point. A point at the beginning of
// the name does not start an extension.
func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[i:]
	}
	return ""
}

// pathJoin joins an array of Strings to a path.
func pathJoin(a *vm.Args) (value.Slot, error) {
	parts := a.Array(0)
	var joined []string
	for i := range parts.Len {
		part := value.Flatten(parts.At(i))
		if part.Kind() != value.KindString {
			return value.Nil, value.Faultf("join: expected String, got %s", value.TypeName(part))
		}
		s := part.AsString()
		a.Pace().Bytes(len(s) + 8)
		if strings.HasPrefix(s, "/") {
			joined = joined[:0]
		}
		if s != "" {
			joined = append(joined, s)
		}
	}
	return value.String(path.Join(joined...)), nil
}

// pathRelative returns the path relative to a base. The arguments are (path, base). It returns None
// if the texts alone do not determine the relative path.
func pathRelative(a *vm.Args) (value.Slot, error) {
	to, from := path.Clean(a.String(0)), path.Clean(a.String(1))
	a.Pace().Bytes(len(to) + len(from))
	if path.IsAbs(to) != path.IsAbs(from) {
		return value.Nil, nil
	}
	t, f := pathNames(to), pathNames(from)
	for len(t) > 0 && len(f) > 0 && t[0] == f[0] {
		t, f = t[1:], f[1:]
	}
	if len(f) > 0 && f[0] == ".." {
		return value.Nil, nil
	}
	all := append(strings.Split(strings.Repeat("../", len(f)), "/")[:len(f)], t...)
	return value.Some(value.String(path.Clean(strings.Join(all, "/")))), nil
}

// pathNames returns the parts of a cleaned path between the slashes.
func pathNames(p string) []string {
	if p = strings.TrimPrefix(p, "/"); p == "" || p == "." {
		return nil
	}
	return strings.Split(p, "/")
}
