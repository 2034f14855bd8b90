package pkg

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits of a package.
const (
	MaxFiles     = 10_000
	MaxFileBytes = 16 << 20
	MaxBytes     = 64 << 20
	maxNameBytes = 240
)

// EntryKind is the kind of an entry in a git tree.
type EntryKind uint8

// The kinds of entries.
const (
	RegularFile EntryKind = iota
	SymbolicLink
	Submodule
)

// Entry is an entry of a package's tree. Name is relative to the package.
type Entry struct {
	Name string
	Kind EntryKind
	Size int64 // in bytes
}

// CheckTree returns the reason why a package with these entries cannot be used, or "".
func CheckTree(entries []Entry) string {
	if len(entries) > MaxFiles {
		return "it contains more than 10,000 files"
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	var all int64
	for _, e := range entries {
		switch {
		case e.Kind == SymbolicLink:
			return "it contains a symbolic link: " + shownName(e.Name)
		case e.Kind == Submodule:
			return "it contains a submodule: " + shownName(e.Name)
		case CheckName(e.Name) != "":
			return "it contains a file name that is not portable: " + shownName(e.Name) + " (" + CheckName(e.Name) + ")"
		case e.Size > MaxFileBytes:
			return e.Name + " is larger than 16 MiB"
		}
		all += e.Size
	}
	if all > MaxBytes {
		return "it is larger than 64 MiB"
	}
	return clash(entries)
}

// clash returns a description of two names that some systems do not distinguish, or "". The names
// of directories count.
func clash(entries []Entry) string {
	seen := map[string]string{}
	fold := cases.Fold()
	for _, e := range entries {
		for i := 0; i <= len(e.Name); i++ {
			if i < len(e.Name) && e.Name[i] != '/' {
				continue
			}
			name := e.Name[:i]
			key := norm.NFC.String(fold.String(norm.NFC.String(name)))
			first, found := seen[key]
			if found && first != name {
				if fold.String(first) == fold.String(name) {
					return fmt.Sprintf("%s and %s differ only in case", first, name)
				}
				return fmt.Sprintf("%s and %s differ only in the Unicode form of their letters", first, name)
			}
			seen[key] = name
		}
	}
	return ""
}

// CheckName returns the reason why the name of a file, relative to its package, is not allowed, or
// "".
func CheckName(name string) string {
	if !utf8.ValidString(name) {
		return "it is not valid UTF-8"
	}
	if len(name) > maxNameBytes {
		return fmt.Sprintf("it is longer than %d bytes", maxNameBytes)
	}
	for part := range strings.SplitSeq(name, "/") {
		if reason := portability(part); reason != "" {
			return reason
		}
	}
	return ""
}

// devices contains the names of Windows devices.
var devices = func() []string {
	all := []string{"con", "prn", "aux", "nul", "conin$", "conout$"}
	for _, n := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"} {
		all = append(all, "com"+n, "lpt"+n)
	}
	return all
}()

// portability returns the reason why a component of a path is not allowed, or "".
func portability(part string) string {
	switch part {
	case "":
		return "a component of its path is empty"
	case ".", "..":
		return "a component of its path is `" + part + "`"
	}
	for _, r := range part {
		if r < ' ' || r >= 0x7f && r <= 0x9f || strings.ContainsRune("\\<>:\"|?*", r) {
			return fmt.Sprintf("it contains %q", r)
		}
	}
	base, _, _ := strings.Cut(part, ".")
	switch {
	case strings.EqualFold(part, ".git"):
		return "`.git` is reserved for git"
	case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
		return "a component of its path ends with a dot or a space"
	case slices.Contains(devices, strings.ToLower(strings.TrimRight(base, " "))):
		return "it is the name of a Windows device"
	}
	return ""
}

// shownName returns a name for a message. Characters that could change the terminal are escaped.
func shownName(name string) string {
	quoted := fmt.Sprintf("%q", name)
	if quoted == `"`+name+`"` {
		return name
	}
	return quoted
}
