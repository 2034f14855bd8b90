package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// newPolicy returns the policy of the section [hosts.X.permissions] and of the addresses in
// [hosts.X.sandbox], or nil without both.
// Relative paths in the section are relative to the manifest. Relative paths in an agent's requests
// are relative to the process's directory.
func (c *Config) newPolicy(environ []string) (*hostpolicy.Policy, error) {
	var rules hostpolicy.Rules
	if c.Access.Permissions != nil {
		rules = *c.Access.Permissions
	}
	if c.Access.Sandbox != nil {
		rules.Reach = c.Access.Sandbox.Net
	}
	if c.Access.Permissions == nil && rules.Reach == nil {
		return nil, nil
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, c.errorf("cannot be started in '%s': %v", c.Dir, err)
	}
	home, _ := procgroup.LookupEnv(environ, "HOME")
	rules.Read, rules.Write, rules.Deny = c.rootPaths(rules.Read), c.rootPaths(rules.Write), c.denyGlobs(rules.Deny)
	return hostpolicy.New(rules, hostpolicy.Place{Dir: dir, Home: home, Link: func(path string) (string, bool) {
		to, err := os.Readlink(path)
		return to, err == nil
	}}), nil
}

// rootPath returns the path of a root, relative to the manifest.
func (c *Config) rootPath(name string) string {
	if strings.HasPrefix(name, "~") {
		return name
	}
	return joinRoot(cmp.Or(c.Root, c.Dir), name)
}

// rootPaths returns the absolute paths of roots. For an isolated exchange, the path of its own
// directory replaces the path of the working directory.
func (c *Config) rootPaths(names []string) []string {
	var out []string
	for _, name := range names {
		root := c.rootPath(name)
		out = append(out, root)
		if c.Original == "" {
			continue
		}
		if rel, ok := relativeTo(c.Original, root); ok {
			out[len(out)-1] = filepath.Join(c.Dir, rel)
		} else if _, ok := relativeTo(root, c.Original); ok {
			out = append(out, c.Dir)
		}
	}
	return out
}

// denyGlobs returns the globs, and for each relative glob with a slash also an absolute one below
// the manifest's directory. For an isolated exchange, its own directory replaces the working
// directory in the absolute glob. The relative globs remain and match relative to the process's
// directory, because denying too much is safer than denying too little.
func (c *Config) denyGlobs(globs []string) []string {
	out := slices.Clone(globs)
	for _, glob := range globs {
		if filepath.IsAbs(glob) || strings.HasPrefix(glob, "~") || !strings.Contains(strings.Trim(glob, "/"), "/") {
			continue
		}
		for _, at := range c.rootPaths([]string{strings.TrimPrefix(glob, "./")}) {
			if abs, err := filepath.Abs(at); err == nil {
				out = append(out, filepath.ToSlash(abs))
			}
		}
	}
	return out
}

// relativeTo returns the path relative to dir. ok is false if path is not in dir.
func relativeTo(dir, path string) (way string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	way, err = filepath.Rel(dir, path)
	return way, err == nil && filepath.IsLocal(way)
}

// warnOfRoots logs a warning for each root that does not exist and therefore allows nothing.
func (h *Hosts) warnOfRoots(c *Config) {
	if c.Access.Permissions == nil {
		return
	}
	for _, key := range []struct {
		name  string
		roots []string
	}{{"read", c.Access.Permissions.Read}, {"write", c.Access.Permissions.Write}} {
		for _, root := range key.roots {
			if at := c.rootPath(root); !strings.HasPrefix(at, "~") {
				if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
					h.logf("warn", c, "may use '%s' by `%s` of [hosts.%s.permissions], but %s does not exist: paths start at the manifest", root, key.name, c.Connector, at)
				}
			}
		}
	}
}

// rulesName returns the name of the section with the rules.
func (c *Config) rulesName() string { return "[hosts." + c.Connector + ".permissions]" }

// sandboxName returns the name of the section with the sandbox.
func (c *Config) sandboxName() string { return "[hosts." + c.Connector + ".sandbox]" }

// denialReason returns the text with which a denied approval is answered.
func (c *Config) denialReason() string { return "denied by " + c.rulesName() }

// applyRules answers a request of a vendor's agent that no exchange can decide, and an approval
// that the rules decide, and replaces the message by the decision, which the program receives. It
// runs when the approval is read, so that a running handler of the program does not delay the
// answer. The rules inspect the kind, paths and arguments of an action, so they decide only
// approvals, and no other yes/no questions.
func (r *reader) applyRules(x *incomingLine) error {
	t, m, line := x.segment, x.msg, x.line.Text
	if !inPage && r.process.translation != nil && hostmsg.Lookup(m.Type).Waits() {
		switch {
		case t.isInit:
			return r.answerOutside(m, x.line, undecidable)
		case t.inbox.isDiscarding():
			return r.answerOutside(m, x.line, cancelled)
		}
	}
	if r.process.rules == nil || m.Type != hostmsg.Approval || t.isInit || t.inbox.isDiscarding() {
		return nil
	}
	q := hostpolicy.ParseRequest(line)
	by := r.decidingSection(q)
	verdict := r.earlierDecision(m, by)
	if verdict == hostpolicy.Ask {
		verdict = r.process.rules.Decide(q)
	}
	if verdict == hostpolicy.Ask {
		return nil
	}
	if err := r.answerMessage(m, r.verdictAnswer(verdict, by)); err != nil {
		return err
	}
	*m = r.decisionMessage(verdict, by, m, line)
	return nil
}

// earlierDecision returns the decision that an earlier Concerto process sent for an approval
// without journaling it. The rules may have changed since then. It returns Ask if no decision was
// sent.
func (r *reader) earlierDecision(m *effect.HostMessage, by string) hostpolicy.Verdict {
	if r.process.keeper.conn == nil || r.process.keeper.sent.isEmpty() {
		return hostpolicy.Ask
	}
	for _, v := range []hostpolicy.Verdict{hostpolicy.Allow, hostpolicy.Deny} {
		l := line{short: continuity.AppendReply(nil, textReply(m, r.verdictAnswer(v, by)))}
		if r.process.keeper.sent.hasDigest(l.digest()) {
			return v
		}
	}
	return hostpolicy.Ask
}

// decidingSection returns the name of the section that decides about a request, if one does.
func (r *reader) decidingSection(q hostpolicy.Request) string {
	if r.process.rules.IsUnreachable(q) {
		return r.process.cfg.sandboxName()
	}
	return r.process.cfg.rulesName()
}

// verdictAnswer returns the answer to an approval for a verdict of the section by.
func (r *reader) verdictAnswer(v hostpolicy.Verdict, by string) string {
	c := r.process.cfg
	switch {
	case v == hostpolicy.Allow:
		return r.allowAnswer()
	case by == c.sandboxName():
		return "not in net of " + by
	}
	return c.denialReason()
}

// textReply returns a reply to m whose value is the text.
func textReply(m *effect.HostMessage, text string) *effect.ExchangeReply {
	return &effect.ExchangeReply{InReplyTo: m.Type, AnswerTo: m.ID, Value: value.AppendString(nil, text)}
}

// answerMessage answers a message with a text.
func (r *reader) answerMessage(m *effect.HostMessage, text string) error {
	if _, ok := r.process.sendMessage(continuity.AppendReply(nil, textReply(m, text)), false); !ok {
		return errNotReading
	}
	return nil
}

// allowAnswer returns the answer that allows an action: "yes" for a host of our protocol.
func (r *reader) allowAnswer() string {
	if r.process.translation == nil {
		return "yes"
	}
	return decision.Once
}

// decisionMessage returns the message that informs the program which decision the section by made.
func (r *reader) decisionMessage(verdict hostpolicy.Verdict, by string, m *effect.HostMessage, line []byte) effect.HostMessage {
	var a struct {
		Description json.RawMessage `json:"description"`
	}
	_ = json.Unmarshal(line, &a) // line has already been decoded successfully
	o := jsonobject.New(effect.Decided)
	o.Text("host", r.process.cfg.Name)
	for _, m := range []jsonread.Member{
		{Name: "id", Value: json.RawMessage(m.ID)},
		{Name: "decision", Value: jsonwrite.MustEncode(verdict)},
		{Name: "description", Value: a.Description},
		{Name: effect.DecidedAsked, Value: value.AppendJSON(nil, m.Payload)},
	} {
		if len(m.Value) == 0 {
			m.Value = json.RawMessage("null")
		}
		o.Raw(m.Name, m.Value)
	}
	if by != r.process.cfg.rulesName() {
		o.Text("by", by)
	}
	return noticeMessage(o.End())
}
