package release

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// semver matches a version without build metadata, which package managers ignore.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?$`)

// dirtyMark ends the version of a release whose sources differ from the commit.
const dirtyMark = "-dirty"

// versionOf returns the version of a release: asked, the highest version among the tags of the
// commit, or one that contains the commit.
func versionOf(asked string, tags []string, commit string, dirty bool) (string, error) {
	version := asked
	switch {
	case asked == "":
		version = tagged(tags)
	case semver.MatchString(asked):
	case semver.MatchString(strings.TrimPrefix(asked, "v")):
		return "", refuse("VERSION=%s begins with v: use VERSION=%s", asked, asked[1:])
	case strings.Contains(asked, "+"):
		return "", refuse("VERSION=%s has build metadata, which package managers ignore", asked)
	default:
		return "", refuse("VERSION=%s is not a semantic version: for example 1.2.3 or 1.2.3-rc.1", asked)
	}
	if version == "" {
		version = "0.0.0-dev." + identifier(commit[:12])
	}
	if !dirty {
		return version, nil
	}
	return version + dirtyMark, nil
}

// identifier returns a part of a commit as an identifier of a version. If it consists of digits, it
// must not begin with 0.
func identifier(commit string) string {
	if semver.MatchString("0.0.0-" + commit) {
		return commit
	}
	return "g" + commit
}

// tagged returns the highest version among tags of the form vN.N.N and vN.N.N-PRERELEASE, or "".
func tagged(tags []string) string {
	var versions []string
	for _, tag := range tags {
		if v, ok := strings.CutPrefix(tag, "v"); ok && semver.MatchString(v) {
			versions = append(versions, v)
		}
	}
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, compareVersions)
}

// compareVersions orders two versions by their precedence.
func compareVersions(a, b string) int {
	x, y := semver.FindStringSubmatch(a), semver.FindStringSubmatch(b)
	for i := 1; i <= 3; i++ {
		if c := compareNumbers(x[i], y[i]); c != 0 {
			return c
		}
	}
	if x[4] == "" || y[4] == "" { // a version without a pre-release is higher
		return cmp.Compare(len(y[4]), len(x[4]))
	}
	return slices.CompareFunc(strings.Split(x[4], "."), strings.Split(y[4], "."), compareIdentifiers)
}

// compareIdentifiers orders two identifiers of a pre-release: numbers first, by their value.
func compareIdentifiers(a, b string) int {
	switch x, y := isNumber(a), isNumber(b); {
	case x && y:
		return compareNumbers(a, b)
	case x:
		return -1
	case y:
		return 1
	}
	return strings.Compare(a, b)
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// compareNumbers orders two numbers without leading zeros.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
