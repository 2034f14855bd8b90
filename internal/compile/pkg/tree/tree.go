// Package tree checks the content of a package (spec/46-packages.md). It needs tables of Unicode,
// which a program that only reads packages does not link.
package tree

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
)

// Limits of a package.
const (
	MaxFiles     = 10_000
	MaxFileBytes = 16 << 20
	MaxBytes     = 64 << 20
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

// Check returns the reason why a package with these entries cannot be used, or "".
func Check(entries []Entry) string {
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
		case pkg.CheckName(e.Name) != "":
			return "it contains a file name that is not portable: " + shownName(e.Name) + " (" + pkg.CheckName(e.Name) + ")"
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

// shownName returns a name for a message. Characters that could change the terminal are escaped.
func shownName(name string) string {
	quoted := fmt.Sprintf("%q", name)
	if quoted == `"`+name+`"` {
		return name
	}
	return quoted
}
