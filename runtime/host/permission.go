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
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// policy is what [hosts.X.permissions] says; nil without the section. Its relative paths
// start at the manifest, those of an agent's requests where the process works.
func (c *Config) policy(environ []string) (*hostpolicy.Policy, error) {
	if c.Permissions == nil {
		return nil, nil
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, c.failure("cannot be started in '%s': %v", c.Dir, err)
	}
	home, _ := procgroup.LookupEnv(environ, "HOME")
	rules := *c.Permissions
	rules.Read, rules.Write, rules.Deny = c.roots(rules.Read), c.roots(rules.Write), c.denials(rules.Deny)
	return hostpolicy.New(rules, hostpolicy.Place{Dir: dir, Home: home, Link: func(path string) (string, bool) {
		to, err := os.Readlink(path)
		return to, err == nil
	}}), nil
}

// rootAt returns the path of a root of files, which starts at the manifest.
func (c *Config) rootAt(name string) string {
	if strings.HasPrefix(name, "~") {
		return name
	}
	return below(cmp.Or(c.Root, c.Dir), name)
}

// roots returns the paths of roots. Of the working directory of an isolated exchange, its
// own directory takes the place.
func (c *Config) roots(names []string) []string {
	var out []string
	for _, name := range names {
		root := c.rootAt(name)
		out = append(out, root)
		if c.Original == "" {
			continue
		}
		if rel, ok := wayTo(c.Original, root); ok {
			out[len(out)-1] = filepath.Join(c.Dir, rel)
		} else if _, ok := wayTo(root, c.Original); ok {
			out = append(out, c.Dir)
		}
	}
	return out
}

// denials returns globs that also start at the manifest: one that names the way to the
// working directory holds for the directory that an isolated exchange has instead. The
// globs themselves start where the process works, since a denial rather matches too much.
func (c *Config) denials(globs []string) []string {
	out := slices.Clone(globs)
	for _, glob := range globs {
		if filepath.IsAbs(glob) || strings.HasPrefix(glob, "~") || !strings.Contains(strings.Trim(glob, "/"), "/") {
			continue
		}
		for _, at := range c.roots([]string{strings.TrimPrefix(glob, "./")}) {
			if abs, err := filepath.Abs(at); err == nil {
				out = append(out, filepath.ToSlash(abs))
			}
		}
	}
	return out
}

// wayTo returns the way from dir to a path in it.
func wayTo(dir, path string) (way string, ok bool) {
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

// warnOfRoots warns of roots that do not exist, and so allow nothing yet.
func (h *Hosts) warnOfRoots(c *Config) {
	if c.Permissions == nil {
		return
	}
	for _, key := range []struct {
		name  string
		roots []string
	}{{"read", c.Permissions.Read}, {"write", c.Permissions.Write}} {
		for _, root := range key.roots {
			if at := c.rootAt(root); !strings.HasPrefix(at, "~") {
				if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
					h.remark("warn", c, "may use '%s' by `%s` of [hosts.%s.permissions], but %s does not exist: paths start at the manifest", root, key.name, c.Connector, at)
				}
			}
		}
	}
}

// denied is the reason of what the rules deny.
func (c *Config) denied() string { return "denied by [hosts." + c.Connector + ".permissions]" }

// permit answers an approval that the rules decide, and makes the message what the program
// hears of it. It is done as soon as the approval is read, so that no handler that
// runs holds it up. The rules decide approvals alone, whatever else is answered by yes
// or no: they read the kind, the paths and the arguments of what a host asks to do.
func (r *reader) permit(x *heard) error {
	t, m, line := x.of, x.m, x.line.Text
	if r.p.rules == nil || m.Type != hostmsg.Approval {
		return nil
	}
	switch vendor := r.p.words != nil; {
	case vendor && t.one:
		return r.decideAside(m, line, "no exchange is running that could decide it")
	case t.one:
		return nil // it is no acknowledgement
	case t.in.dropping():
		if vendor {
			return r.answer(m, "the exchange is cancelled")
		}
		return nil
	}
	verdict := r.decidedBefore(m)
	if verdict == hostpolicy.Ask {
		verdict = r.p.rules.Decide(hostpolicy.Of(line))
	}
	if verdict == hostpolicy.Ask {
		return nil
	}
	if err := r.answer(m, r.answerOf(verdict)); err != nil {
		return err
	}
	*m = r.decided(verdict, m, line)
	return nil
}

// decidedBefore is how an approval was decided, and answered, by the process before this one, whose journal does not have it: what the rules
// say now may be another thing. It is Ask where nothing was.
func (r *reader) decidedBefore(m *effect.HostMessage) hostpolicy.Verdict {
	if r.p.kept.conn == nil || r.p.kept.repeat.none() {
		return hostpolicy.Ask
	}
	for _, v := range []hostpolicy.Verdict{hostpolicy.Allow, hostpolicy.Deny} {
		l := line{short: appendReply(nil, answering(m, r.answerOf(v)))}
		if r.p.kept.repeat.has(l.sum()) {
			return v
		}
	}
	return hostpolicy.Ask
}

// answerOf is the answer to what the rules have decided.
func (r *reader) answerOf(v hostpolicy.Verdict) string {
	if v == hostpolicy.Allow {
		return r.allowance()
	}
	return r.p.cfg.denied()
}

// answering is the reply to a message with a text.
func answering(m *effect.HostMessage, text string) *effect.ExchangeReply {
	return &effect.ExchangeReply{InReplyTo: m.Type, AnswerTo: m.ID, Value: value.AppendString(nil, text)}
}

// decideAside answers an approval that a vendor's agent asks for while nobody could
// be asked: what the rules do not allow is denied, so that it need not wait.
func (r *reader) decideAside(m *effect.HostMessage, line []byte, nobody string) error {
	switch r.p.rules.Decide(hostpolicy.Of(line)) {
	case hostpolicy.Allow:
		nobody = r.allowance()
	case hostpolicy.Deny:
		nobody = r.p.cfg.denied()
	}
	return r.answer(m, nobody)
}

// answer answers a message with a text.
func (r *reader) answer(m *effect.HostMessage, text string) error {
	if _, ok := r.p.send(appendReply(nil, answering(m, text)), false); !ok {
		return errDeaf
	}
	return nil
}

// allowance is the answer that allows: a host of ours gets a word that people give.
func (r *reader) allowance() string {
	if r.p.words == nil {
		return "yes"
	}
	return decision.Once
}

// decided is what the program hears of an approval that was decided.
func (r *reader) decided(verdict hostpolicy.Verdict, m *effect.HostMessage, line []byte) effect.HostMessage {
	var a struct {
		Description json.RawMessage `json:"description"`
	}
	_ = json.Unmarshal(line, &a) // it has been read as a message
	o := jsonobject.New(effect.Decided)
	o.Text("host", r.p.cfg.Name)
	for _, m := range []jsonobject.Member{
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
	text := o.End()
	typ, _, payload, err := value.ParseMessage(text)
	if err != nil {
		panic("host: what was decided does not parse: " + err.Error())
	}
	return effect.HostMessage{Type: typ, Payload: payload, Text: text, Decided: true}
}
