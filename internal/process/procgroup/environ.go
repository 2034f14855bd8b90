package procgroup

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// The rule for the environment of child processes is in this file, and everything that starts a
// process on behalf of a program uses it: a child receives the inherited variables, and those that
// a key of the manifest or a flag names for it. The permissions of the program have no influence.

// inherited lists the variables that every process receives from the run's environment. Programs
// need them to find files, language, certificates and network. A name that ends in * matches every
// name with that prefix.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "NO_COLOR", "TZ", "TMPDIR", "XDG_*",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"VIRTUAL_ENV", "PYTHONPATH", "PYTHONUNBUFFERED", "NODE_PATH", "NVM_DIR",
	"GOPATH", "GOCACHE", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
	"CONCERTO_*",
}

// neverInherited lists variables that no process receives, because a process could use them to
// impersonate Concerto.
var neverInherited = []string{"CONCERTO_RELAY_SOCK", proc.KeeperMark}

// engineURL is the variable with the address of an engine, which may contain a password. It is
// passed only by its full name, as a key.
const engineURL = "CONCERTO_ENGINE"

// Inherit selects additional variables of the run's environment that a process receives.
type Inherit struct {
	Pass []string // names of variables; * matches any characters
	// Keys contains variables with the keys of other services. Such a variable is passed only if
	// Pass contains its full name.
	Keys map[string]bool
}

// Of returns the variables of environ that the process receives, and the sorted names of the
// others.
func (in Inherit) Of(environ []string) (passed, withheld []string) {
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "":
		case in.passes(name):
			passed = append(passed, kv)
		default:
			withheld = append(withheld, name)
		}
	}
	slices.Sort(withheld)
	return passed, slices.Compact(withheld)
}

func (in Inherit) passes(name string) bool {
	covers := func(pattern string) bool { return matchesPattern(pattern, name) }
	switch {
	case slices.Contains(neverInherited, name):
		return false
	case slices.Contains(in.Pass, name):
		return true
	case in.Keys[name], name == engineURL:
		return false
	}
	return slices.ContainsFunc(inherited, covers) || slices.ContainsFunc(in.Pass, covers)
}

// matchesPattern reports whether a name matches a pattern, in which * matches any characters.
func matchesPattern(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return name == pattern
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for star {
		first, rest, star = strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, first)
		}
		at := strings.Index(name, first)
		if at < 0 {
			return false
		}
		name = name[at+len(first):]
	}
	return true
}
