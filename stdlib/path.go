package stdlib

import (
	"path"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// The functions of std::path, which process texts only.
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

// ofPath returns a native of one path.
func ofPath(f func(p string) value.Slot) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		p := a.String(0)
		a.Pace().Bytes(len(p))
		return f(p), nil
	}
}

// trimSlashes removes slashes at the end, except that of a root.
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

// extension returns the extension of a name, with its point. A point at the beginning is part of
// the name.
func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[i:]
	}
	return ""
}

// pathJoin takes an array of Strings.
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

// pathRelative takes (path, base) and returns None if the texts do not determine the relative path.
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

// pathNames returns the names of a clean path.
func pathNames(p string) []string {
	if p = strings.TrimPrefix(p, "/"); p == "" || p == "." {
		return nil
	}
	return strings.Split(p, "/")
}
