package procgroup

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// inherited are the variables that a process gets of the run's environment: what
// programs need to find their files, their language, their certificates and the
// network. A name that ends in * stands for all that begin so.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "NO_COLOR", "TZ", "TMPDIR", "XDG_*",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"VIRTUAL_ENV", "PYTHONPATH", "PYTHONUNBUFFERED", "NODE_PATH", "NVM_DIR",
	"GOPATH", "GOCACHE", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
	"CONCERTO_*",
}

// withheld are variables that nobody gets: whoever has them could answer for us.
var withheld = []string{"CONCERTO_RELAY_SOCK", proc.KeptMark}

// Inherit says which variables of the run's environment a process gets beyond
// those that all get.
type Inherit struct {
	Pass []string        // names; * in one stands for any characters
	Keys map[string]bool // variables that hold keys of others: passed only when Pass has the very name
}

// Of gives the part of an environment that the process gets, and the names of the
// variables that are kept back, in order.
func (in Inherit) Of(environ []string) (passed, kept []string) {
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "":
		case in.passes(name):
			passed = append(passed, kv)
		default:
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	return passed, slices.Compact(kept)
}

func (in Inherit) passes(name string) bool {
	covers := func(pattern string) bool { return covers(pattern, name) }
	switch {
	case slices.Contains(withheld, name):
		return false
	case slices.Contains(in.Pass, name):
		return true
	case in.Keys[name]:
		return false
	}
	return slices.ContainsFunc(inherited, covers) || slices.ContainsFunc(in.Pass, covers)
}

// covers says whether a name fits a pattern, in which * stands for any characters.
func covers(pattern, name string) bool {
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
