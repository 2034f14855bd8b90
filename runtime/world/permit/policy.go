// Package permit decides which resources a run may use: files, the network, environment variables,
// commands and hosts (spec/19-permissions.md). Two sides grant permissions: the program's manifest
// in [permissions], and the caller of the program. A resource is permitted if both allow it.
//
// This package decides about all effects. table.go lists the needs of each kind of request, and
// Guard checks a request before its performer receives it. A performer calls Refuse only for
// targets that become known later: the address of a redirect, or the files below a directory.
package permit

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Config configures a Policy.
type Config struct {
	Caller Grants
	// Bounds limit the run in addition to Caller: what both allow is allowed.
	Bounds Grants
	// Manifest is the program's [permissions]; nil without the section.
	Manifest *Manifest
	// Dir is the directory for relative paths of the caller and of the program. Root is the
	// directory for relative paths of the manifest and of stores. "" means the working directory.
	Dir, Root string
	// Hosts maps each declared host to the name of its section in the manifest.
	Hosts map[string]string
	// Connections and Servers contain the resources that the models' connections and the MCP
	// servers use, by name.
	Connections, Servers map[string]Reach
	Workspaces           Workspaces
	// StoresInMemory means that all stores are in memory, so that they need no permission.
	StoresInMemory bool
}

// Manifest is the section [permissions]. It refuses targets that a key does not list, except for
// the kinds whose keys are in Open.
type Manifest struct {
	FS, Env, Net, Run []string
	Open              []string
}

// Reach contains the resources that a section of the manifest uses. Address is a URL or "", and
// Command is a command or "". Env lists the variables whose values are sent to the address.
type Reach struct {
	Address string
	Command string
	Env     []string
}

// Policy decides which resources a run may use. It is safe for concurrent use, except for AddHost.
type Policy struct {
	config   Config
	manifest side
	callers  []side // those of Caller and of Bounds
}

// AddHost registers the section of a host that was declared later. It must not be called
// concurrently with other methods.
func (p *Policy) AddHost(name, section string) { p.config.Hosts[name] = section }

// side contains the grants of one side, by kind.
type side [len(Kinds)]limit

// limit is the grant of one side for one kind.
type limit struct {
	limited bool // false means that everything is granted
	names   []string
	roots   []string // granted paths in the form of Real
}

// New returns a Policy. It follows links in the granted paths once, at the time of the call.
func New(c Config) *Policy {
	p := &Policy{config: c}
	for _, grants := range []*Grants{&c.Caller, &c.Bounds} {
		var s side
		for k := range Kinds {
			names, limited := grants.allowedTargets(Kind(k))
			s[k] = newLimit(Kind(k), names, limited, c.Dir)
		}
		p.callers = append(p.callers, s)
	}
	p.manifest[Run].limited = true // a manifest without a list of commands permits no command
	if m := c.Manifest; m != nil {
		for k, names := range map[Kind][]string{Read: m.FS, Write: m.FS, Net: m.Net, Env: m.Env, Run: m.Run} {
			p.manifest[k] = newLimit(k, names, !slices.Contains(m.Open, Kinds[k].Key), c.Root)
		}
	}
	return p
}

func newLimit(k Kind, names []string, limited bool, dir string) limit {
	l := limit{limited: limited, names: names}
	if limited && (k == Read || k == Write) {
		l.roots = reals(names, dir)
	}
	return l
}

// Roots returns the files and directories, in the form of Real, below which files may be read, or
// written if k is Write. nil means that all files are permitted.
func (p *Policy) Roots(k Kind) []string {
	all := p.manifest[k]
	for i := range p.callers {
		switch l := &p.callers[i][k]; {
		case !l.limited:
		case !all.limited:
			all = *l
		default:
			all.roots = common(all.roots, l.roots)
		}
	}
	if !all.limited {
		return nil
	}
	return all.roots
}

// Environment returns the variables that are named as those that the program may read. It is nil
// if the program may read all variables, because none of them is then named.
func (p *Policy) Environment() []string {
	all := p.manifest[Env]
	for i := range p.callers {
		switch l := &p.callers[i][Env]; {
		case !l.limited:
		case !all.limited:
			all = *l
		default:
			all.names = slices.DeleteFunc(slices.Clone(all.names), func(n string) bool { return !slices.Contains(l.names, n) })
		}
	}
	if !all.limited {
		return nil
	}
	return append([]string{}, all.names...)
}

// Need is a permission that a request needs: a kind and a target.
type Need struct {
	Kind Kind
	// Target is a path, variable, command or host in the program's form. For Net, it is a host with
	// its port.
	Target string
	// Base is the directory for a relative path or command.
	Base string
	// Link means that a link in the last element of the path is not followed.
	Link bool
	// Declared means that a section of the manifest names the target and thereby grants it.
	Declared bool
}

func (p *Policy) allows(s *side, n Need) bool {
	l := &s[n.Kind]
	if !l.limited {
		return true
	}
	switch n.Kind {
	case Read, Write:
		path := Real(absolute(n.Target, n.Base), !n.Link)
		return slices.ContainsFunc(l.roots, func(root string) bool { return Below(root, path) })
	case Net:
		return slices.ContainsFunc(l.names, func(pattern string) bool { return matchesHost(pattern, n.Target) })
	case Run:
		return slices.ContainsFunc(l.names, func(name string) bool { return p.sameCommand(s, name, n) })
	case Host:
		other := p.config.Hosts[n.Target]
		return slices.Contains(l.names, n.Target) || other != "" && slices.Contains(l.names, other)
	}
	return slices.Contains(l.names, n.Target)
}

// callersAllow reports whether the caller and the bounds allow a need.
func (p *Policy) callersAllow(n Need) bool {
	return !slices.ContainsFunc(p.callers, func(s side) bool { return !p.allows(&s, n) })
}

// isLimited reports whether a kind is not granted completely.
func (p *Policy) isLimited(k Kind) bool {
	return p.manifest[k].limited || slices.ContainsFunc(p.callers, func(s side) bool { return s[k].limited })
}

// sameCommand reports whether a command in a side's list is the required command. Commands that are
// paths are compared by the files to which they refer, because relative paths may start at
// different directories.
func (p *Policy) sameCommand(s *side, name string, n Need) bool {
	if s == &p.manifest || !strings.Contains(name, "/") || !strings.Contains(n.Target, "/") {
		return name == n.Target
	}
	return Real(absolute(name, p.config.Dir), true) == Real(absolute(n.Target, n.Base), true)
}

func absolute(path, base string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// checkRequest returns the error for a request that is not permitted, or nil.
func (p *Policy) checkRequest(w *row, r effect.Request) error {
	var first Need
	var flags []string
	for _, n := range w.needs(p, r) {
		if !n.Declared && !p.allows(&p.manifest, n) {
			return denied(w.refused(r, n, ofManifest(n)))
		}
		if p.callersAllow(n) {
			continue
		}
		if len(flags) == 0 {
			first = n
		}
		if flag := p.config.Caller.hint(n.Kind, p.shownTarget(n)); !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
	}
	if len(flags) == 0 {
		return nil
	}
	return denied(w.refused(r, first, p.ofCaller(first, flags...)))
}

// denied marks an error as caused by a missing permission.
func denied(e *effect.Error) error {
	e.IsDenied = true
	return e
}

// Refuse returns the error text for a target that a performer learns during the request: for Net
// the address of a redirect, for Read or Write a path. It returns "" if the target is permitted.
func (p *Policy) Refuse(k Kind, target string, declared bool) string {
	n := Need{Kind: k, Target: target, Base: p.config.Dir, Declared: declared}
	if k == Net {
		n.Target = hostOf(target)
	}
	switch {
	case !declared && !p.allows(&p.manifest, n):
		return ofManifest(n)
	case !p.callersAllow(n):
		return p.ofCaller(n, p.config.Caller.hint(k, p.shownTarget(n)))
	}
	return ""
}

// ofManifest returns the error text for a refusal by [permissions]. It names the entry that would
// permit the access.
func ofManifest(n Need) string {
	key := Kinds[n.Kind].Key
	if n.Kind == Read || n.Kind == Write {
		return n.Target + " is not permitted: add its directory to `" + key + "` in [permissions]"
	}
	return n.doing() + " is not permitted: add it to `" + key + "` in [permissions]"
}

// ofCaller returns the error text for a refusal by the caller, or by the bounds of the worker. It
// names the flags that would permit the access.
func (p *Policy) ofCaller(n Need, flags ...string) string {
	if p.allows(&p.callers[0], n) {
		return n.doing() + " is not permitted by this worker: start it with " + strings.Join(flags, " ")
	}
	return n.doing() + " is not permitted: allow it with " + strings.Join(flags, " ")
}

// doing returns a phrase for the refused access.
func (n Need) doing() string {
	target := n.Target
	if n.Kind == Net {
		target = plainHost(target)
	}
	return strings.Replace(Kinds[n.Kind].Doing, "%s", target, 1)
}

// shownTarget returns the target in the form for the caller, whose relative paths start at Dir.
func (p *Policy) shownTarget(n Need) string {
	switch {
	case n.Kind == Net:
		return plainHost(n.Target)
	case n.Kind == Run && !strings.Contains(n.Target, "/"):
		return n.Target
	case n.Kind != Read && n.Kind != Write && n.Kind != Run, n.Base == p.config.Dir, filepath.IsAbs(n.Target):
		return n.Target
	}
	path := absolute(n.Target, n.Base)
	rel, err := filepath.Rel(p.config.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	if n.Kind == Run && !strings.Contains(rel, "/") {
		rel = "./" + rel
	}
	return filepath.ToSlash(rel)
}
