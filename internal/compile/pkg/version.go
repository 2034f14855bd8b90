package pkg

import (
	"cmp"
	"strings"
)

// Version is a version such as v1.2.0 or v2.0.0-beta.1, without build metadata
// (https://semver.org, 2.0.0).
type Version struct {
	Text       string
	numbers    [3]string // without leading zeros, so that the longer one is the greater
	prerelease []string
}

var versionForm = pattern(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?$`)

// maxVersion is the maximum length of a version in bytes.
const maxVersion = 200

// ParseVersion parses a version. ok is false if the text is not one.
func ParseVersion(text string) (v Version, ok bool) {
	m := versionForm().FindStringSubmatch(text)
	if m == nil || len(text) > maxVersion {
		return Version{}, false
	}
	v = Version{Text: text, numbers: [3]string(m[1:4])}
	if m[4] != "" {
		v.prerelease = strings.Split(m[4], ".")
	}
	return v, true
}

// VersionOfTag returns the version that a tag of a package in the directory dir names: the tag
// begins with the directory and a slash.
func VersionOfTag(tag, dir string) (Version, bool) {
	if dir != "" {
		rest, found := strings.CutPrefix(tag, dir+"/")
		if !found {
			return Version{}, false
		}
		tag = rest
	}
	return ParseVersion(tag)
}

// TagOf returns the tag of a version of a package in the directory dir.
func TagOf(version, dir string) string {
	if dir == "" {
		return version
	}
	return dir + "/" + version
}

// Major returns the first number of the version. Versions with different ones are distinct
// packages.
func (v Version) Major() string { return v.numbers[0] }

// IsPrerelease reports whether the version has a pre-release, such as `beta.1`.
func (v Version) IsPrerelease() bool { return v.prerelease != nil }

// Compare returns -1, 0 or 1 if v is before, equal to or after w in the order of semver.
func (v Version) Compare(w Version) int {
	for i := range v.numbers {
		if c := compareNumbers(v.numbers[i], w.numbers[i]); c != 0 {
			return c
		}
	}
	if v.prerelease == nil || w.prerelease == nil {
		return cmp.Compare(boolInt(v.prerelease == nil), boolInt(w.prerelease == nil))
	}
	for i := range min(len(v.prerelease), len(w.prerelease)) {
		if c := comparePrerelease(v.prerelease[i], w.prerelease[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(v.prerelease), len(w.prerelease))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// comparePrerelease compares two parts of pre-releases. A number is before a word.
func comparePrerelease(a, b string) int {
	isNumber := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	switch x, y := isNumber(a), isNumber(b); {
	case x && y:
		return compareNumbers(a, b)
	case x != y:
		return cmp.Compare(boolInt(y), boolInt(x))
	}
	return strings.Compare(a, b)
}
