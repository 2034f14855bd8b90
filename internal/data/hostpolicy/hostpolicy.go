// Package hostpolicy decides what a host's agent may do by the rules of its section
// [hosts.X.permissions] (spec/08-hosts.md): which files it may read and write, and which commands
// it may run. It decides before any handler is called; where no rule is clear, the default applies.
//
// It is pure: links are read through a function of the caller. Denials are interpreted broadly and
// permissions narrowly, because an agent chooses the words.
package hostpolicy

import (
	"path/filepath"
	"slices"
	"strings"
)

// Rules are the keys of [hosts.X.permissions].
type Rules struct {
	Read     []string `json:"read"`     // roots of readable files
	Write    []string `json:"write"`    // roots of writable files
	Deny     []string `json:"deny"`     // globs of files that may be neither read nor written
	Commands Commands `json:"commands"` // commands that may be run
	Default  string   `json:"default"`  // a Verdict, for all that no rule names; "" means Ask
}

// Commands are globs on whole commands.
type Commands struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`
}

// Verdict is what becomes of a request.
type Verdict string

// The verdicts. Deny wins over Ask, Ask over Allow, Allow over the default.
const (
	Allow Verdict = "allow" // done without asking
	Ask   Verdict = "ask"   // the program's handler decides
	Deny  Verdict = "deny"  // refused without asking
)

// Place is where a host works, and how its paths are read.
type Place struct {
	Dir  string // absolute: relative paths start here
	Home string // the meaning of ~; "" if unknown
	// Link returns the target of a link; false if the path is not a link or does not exist.
	Link func(path string) (target string, ok bool)
}

// Policy is the rules of a host at its place. It is immutable and safe for
// concurrent use.
type Policy struct {
	rules Rules
	place Place
	roots [areas][]string // resolved
	deny  []glob
}

// area is what a request touches, and by which rules it is judged.
type area uint8

const (
	nothing area = iota // no rule allows it
	reads
	writes
	runs
	areas
)

// areaOf are the areas of the kinds of approvals (spec/08-hosts.md); a kind that
// is not here has none.
var areaOf = map[string]area{
	"read": reads, "search": reads,
	"edit": writes, "delete": writes, "move": writes,
	"execute": runs,
}

// New makes a Policy. Links in the roots are followed now, not when they are used:
// a root that is replaced by a link later on is no root any more.
func New(r Rules, p Place) *Policy {
	policy := &Policy{rules: r, place: p}
	for _, root := range r.Read {
		policy.roots[reads] = append(policy.roots[reads], p.resolveRoot(root)...)
	}
	for _, root := range r.Write {
		policy.roots[writes] = append(policy.roots[writes], p.resolveRoot(root)...)
	}
	for _, pattern := range r.Deny {
		policy.deny = append(policy.deny, p.parseGlobs(pattern)...)
	}
	return policy
}

// Request describes an action that an agent requests.
type Request struct {
	Kind    string   // of the approval; may be ""
	Command string   // the command to run; may be ""
	Paths   []string // the paths to access, as the agent names them
	Dir     string   // where its relative paths start; "" is the place's
	// Opaque means that Command and Paths do not describe all of it, so they cannot allow it.
	Opaque bool
}

// Decide judges a request. One that is too large is denied, because a denied part could be hidden
// in it.
func (p *Policy) Decide(q Request) Verdict {
	if q.isTooLarge() {
		return Deny
	}
	leads, line, rules := p.readPaths(&q), parseCommandLine(q.Command), &p.rules.Commands
	switch {
	case p.isDenied(leads), matchesAnyPart(rules.Deny, q.Command), line.matches(rules.Deny):
		return Deny
	case matchesAnyPart(rules.Ask, q.Command), line.matches(rules.Ask):
		return Ask
	case p.isAllowed(&q, leads):
		return Allow
	case p.rules.Default == "":
		return Ask
	case Verdict(p.rules.Default) == Allow && len(rules.Deny)+len(rules.Ask) > 0 && q.area() == runs && (line.unclear || len(line.simple) == 0 || q.Opaque):
		return Ask // what a rule names could be in it
	}
	return Verdict(p.rules.Default)
}

// isAllowed reports whether a rule allows the request.
func (p *Policy) isAllowed(q *Request, leads []pathMeanings) bool {
	if q.Opaque {
		return false
	}
	switch in := q.area(); in {
	case runs:
		return allows(p.rules.Commands.Allow, q.Command)
	case reads, writes:
		return len(leads) > 0 && !slices.ContainsFunc(leads, func(l pathMeanings) bool { return !l.isWithin(p.roots[in]) })
	}
	return false
}

// area returns the area of a request's kind. A command is judged as one whatever its kind, unless
// the kind changes files, because a vendor's classification as read-only is a guess. A request
// without a kind that names files may change them.
func (q *Request) area() area {
	in := areaOf[q.Kind]
	switch {
	case q.Command != "" && in != writes:
		return runs
	case q.Kind == "" && len(q.Paths) > 0:
		return writes
	}
	return in
}

// Root returns the root of files that a path, which Resolve gave, is in: for reading, or for
// writing when write is set; "" when it is in none.
func (p *Policy) Root(path string, write bool) string {
	in := reads
	if write {
		in = writes
	}
	for _, root := range p.roots[in] {
		if isBelow(root, path) {
			return root
		}
	}
	return ""
}

// Resolve returns the target of a path with its links followed, or false if the target cannot be
// determined.
func (p *Policy) Resolve(path string) (string, bool) {
	l := p.place.readPath(path, "")
	if !l.clear || len(l.to) != 1 {
		return "", false
	}
	return l.to[0], true
}

// resolveRoot returns the targets of a root, or nil if they cannot be determined.
func (p *Place) resolveRoot(root string) []string {
	if l := p.readPath(root, ""); l.clear {
		return l.to[:1]
	}
	return nil
}

// isBelow reports whether a path is root or in it; both are resolved.
func isBelow(root, path string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}
