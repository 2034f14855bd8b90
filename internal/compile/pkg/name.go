package pkg

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNameBytes is the maximum length of the name of a file.
const maxNameBytes = 240

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
