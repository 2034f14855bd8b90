// Package hostpolicy decides about requests of a host's agent by the rules in [hosts.X.permissions]
// (spec/08-hosts.md): which files it may read and write, and which commands it may run. The rules
// apply before a handler is called. If no rule matches clearly, the default applies.
//
// The package reads links only through a function of the caller. It interprets denials broadly and
// permissions narrowly, because an agent chooses the words of its requests.
package hostpolicy

import (
	"github.com/concerto-lang/concerto/internal/data/netallow"
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// Rules contains the keys of [hosts.X.permissions].
type Rules struct {
	Read     []string `json:"read"`     // roots of readable files
	Write    []string `json:"write"`    // roots of writable files
	Deny     []string `json:"deny"`     // globs of files that may be neither read nor written
	Commands Commands `json:"commands"` // commands that may be run
	Net      Net      `json:"net"`      // addresses that may be reached
	Default  string   `json:"default"`  // a Verdict, for requests that no rule matches; "" means Ask
	// Reach are the only addresses that the host's sandbox lets it reach; nil means all.
	Reach []string `json:"-"`
}

// Commands contains globs for whole commands.
type Commands struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`
}

// Verdict is the decision about a request.
type Verdict string

// The verdicts. Deny takes precedence over Ask, Ask over Allow, and Allow over the default.
const (
	Allow Verdict = "allow" // allowed without a question
	Ask   Verdict = "ask"   // decided by the program's handler
	Deny  Verdict = "deny"  // denied without a question
	Pass  Verdict = "pass"  // decided by the agent's own rules; only a default
)

// Place is the directory in which a host works, with the means to interpret its paths.
type Place struct {
	Dir  string // absolute directory to which paths are relative
	Home string // home directory that ~ means; "" if unknown
	// Link returns the target of a symbolic link. ok is false if the path is not a link or does not
	// exist.
	Link func(path string) (target string, ok bool)
}

// Policy contains the rules of a host and its Place. It is immutable and safe for concurrent use.
type Policy struct {
	rules Rules
	place Place
	roots [areas][]string // directories with links resolved, by area
	deny  []glob
	net   addressRules
	reach []netallow.Address // see Rules.Reach
}

// area is the type of access that a request needs. It determines which rules apply.
type area uint8

const (
	nothing area = iota // no rule can allow the request
	reads
	writes
	runs
	reaches
	areas
)

// kindFetch is the kind of approvals that reach an address.
const kindFetch = "fetch"

// areaOf maps the kinds of approvals (spec/08-hosts.md) to areas. Other kinds have the area
// nothing.
var areaOf = map[string]area{
	"read": reads, "search": reads,
	"edit": writes, "delete": writes, "move": writes,
	"execute": runs,
	kindFetch: reaches,
}

// New returns a Policy. Links in the root directories are resolved now. If a root directory is
// later replaced by a link, the policy does not allow paths below the link's target.
func New(r Rules, p Place) *Policy {
	policy := &Policy{rules: r, place: p, net: newAddressRules(r.Net), reach: newAddressRules(Net{Allow: r.Reach}).allow}
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

// Request describes an action for which an agent requests permission.
type Request struct {
	Kind    string   // kind of the approval; may be ""
	Command string   // command to run; may be ""
	Paths   []string // paths to access, as the agent wrote them
	Dir     string   // directory to which the paths are relative; "" means Place.Dir
	address *address // address to reach, of the kind fetch; nil if it is unknown
	// Input is text for a program that is running. The program, and not a shell, decides what it
	// means, so no rule can allow it.
	Input string `json:",omitempty"`
	// Person means that a person must decide, so no rule can allow the action.
	Person bool `json:",omitempty"`
	// Opaque means that Command and Paths may not describe the whole action, so rules cannot allow
	// it.
	Opaque bool
}

// Decide decides about a request. It denies a request that exceeds the limits, because such a
// request could hide a denied part.
func (p *Policy) Decide(q Request) Verdict {
	v := p.decide(&q)
	if v == Allow && q.Person {
		return Ask
	}
	return v
}

// IsUnreachable reports whether the sandbox does not let the host reach the requested address.
func (p *Policy) IsUnreachable(q Request) bool {
	return p.rules.Reach != nil && q.Kind == kindFetch && q.address != nil && !q.address.matches(p.reach)
}

// decide is Decide for a request that needs no person.
func (p *Policy) decide(q *Request) Verdict {
	if q.isTooLarge() || p.IsUnreachable(*q) {
		return Deny
	}
	if q.Input != "" {
		return p.decideInput(q)
	}
	leads, line, rules := p.readPaths(q), parseCommandLine(q.Command), &p.rules.Commands
	switch {
	case p.matchesDeny(q, leads, line):
		return Deny
	case matchesAnyPart(rules.Ask, q.Command), line.matches(rules.Ask), q.address.matches(p.net.ask):
		return Ask
	case p.isAllowed(q, leads):
		return Allow
	case p.rules.Default == "":
		return Ask
	case p.isOpen() && len(rules.Deny)+len(rules.Ask) > 0 && q.area() == runs && (line.unclear || len(line.simple) == 0 || q.Opaque):
		return Ask // the request could contain something that a deny rule matches
	case p.isOpen() && len(p.net.deny)+len(p.net.ask) > 0 && q.Kind == kindFetch && q.address == nil:
		return Ask // it could be an address that a deny rule matches
	}
	return Verdict(p.rules.Default)
}

// isOpen reports whether the default does not prevent an action.
func (p *Policy) isOpen() bool {
	return Verdict(p.rules.Default) == Allow || Verdict(p.rules.Default) == Pass
}

// decideInput decides about text for a running program, each line of which may be a command.
func (p *Policy) decideInput(q *Request) Verdict {
	rules := &p.rules.Commands
	isAsked := false
	for line := range q.lines() {
		parsed := parseCommandLine(line)
		if matchesAnyPart(rules.Deny, line) || parsed.matches(rules.Deny) {
			return Deny
		}
		isAsked = isAsked || matchesAnyPart(rules.Ask, line) || parsed.matches(rules.Ask)
	}
	if isAsked || p.rules.Default == "" || p.isOpen() && len(rules.Deny)+len(rules.Ask) > 0 {
		return Ask
	}
	return Verdict(p.rules.Default)
}

// lines returns the lines of the input.
func (q *Request) lines() iter.Seq[string] {
	return strings.FieldsFuncSeq(q.Input, func(r rune) bool { return r == '\n' || r == '\r' || r == 0 })
}

// Forbids reports whether a rule denies a request, whatever the defaults are.
func (p *Policy) Forbids(q Request) bool {
	return q.isTooLarge() || q.Input != "" && p.decideInput(&q) == Deny || p.matchesDeny(&q, p.readPaths(&q), parseCommandLine(q.Command))
}

func (p *Policy) matchesDeny(q *Request, leads []pathMeanings, line *commandLine) bool {
	rules := p.rules.Commands.Deny
	return p.isDenied(leads) || matchesAnyPart(rules, q.Command) || line.matches(rules) || q.address.matches(p.net.deny)
}

// isAllowed reports whether a rule allows the request.
func (p *Policy) isAllowed(q *Request, leads []pathMeanings) bool {
	if q.Opaque {
		return false
	}
	switch in := q.area(); in {
	case runs:
		return allows(p.rules.Commands.Allow, q.Command)
	case reaches:
		return q.address.isIn(p.net.allow)
	case reads, writes:
		return len(leads) > 0 && !slices.ContainsFunc(leads, func(l pathMeanings) bool { return !l.isWithin(p.roots[in]) })
	}
	return false
}

// area returns the area of a request. A request with a command is in the area of commands, unless
// its kind changes files, because the agent's claim that a command only reads is unreliable. A
// request that names files without a kind may change them.
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

// Root returns the root directory that contains a path, for writing if write is set, otherwise for
// reading. It returns "" if there is none. The path must be a result of Resolve.
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

// Resolve returns a path with its links resolved. ok is false if that is not possible.
func (p *Policy) Resolve(path string) (string, bool) {
	l := p.place.readPath(path, "")
	if !l.clear || len(l.to) != 1 {
		return "", false
	}
	return l.to[0], true
}

// resolveRoot returns the possible meanings of a root directory with links resolved, or nil if they
// are not clear.
func (p *Place) resolveRoot(root string) []string {
	if l := p.readPath(root, ""); l.clear {
		return l.to[:1]
	}
	return nil
}

// isBelow reports whether a path is root or below it. Links in both must be resolved.
func isBelow(root, path string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}
