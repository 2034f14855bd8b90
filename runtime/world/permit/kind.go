package permit

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of permission.
type Kind uint8

// The kinds of permission.
const (
	Read  Kind = iota // reading files and directories
	Write             // changing files and directories
	Net               // network hosts
	Env               // environment variables
	Run               // commands
	Host              // hosts of the program
)

// Info describes a kind. The command's flags and their help, the texts of refusals and the list
// before a first run are derived from it.
type Info struct {
	Kind  Kind
	Flag  string // name of the command's flag, without dashes
	Doc   string // help text of the flag, with the name of its values in backquotes
	Key   string // key in [permissions] that limits the kind; "" if no key limits it, because the manifest's sections grant all targets that they name
	Doing string // phrase for the refused access in an error text, with %s for the target
	May   string // phrase for the access that a program has, with %s for the targets, in the list before a first run
	Any   string // the phrase of May if the targets are not limited
}

// Kinds describes all kinds; the index is a Kind.
var Kinds = [...]Info{
	Read: {Read, "allow-read", "allow to read these `PATHS`, with what is in them: data,notes.txt", "fs",
		"reading %s", "read %s", "read any file"},
	Write: {Write, "allow-write", "allow to write, move and remove these `PATHS`, with what is in them: out", "fs",
		"writing %s", "write %s", "write any file"},
	Net: {Net, "allow-net", "allow to call these `HOSTS`, models' too: api.openai.com,*.example.com,localhost:8080", "net",
		"calling %s", "call %s", "call any network host"},
	Env: {Env, "allow-env", "allow to read these environment variables, as keys of models too: `NAMES`", "env",
		"reading the environment variable %s", "read the environment variable %s", "read any environment variable"},
	Run: {Run, "allow-run", "allow to run these `COMMANDS`, as MCP servers too: git,npx", "run",
		"running %s", "run %s", "run any command"},
	Host: {Host, "allow-host", "allow to start these hosts, by their declaration or section: `NAMES`", "",
		"starting the host %s", "start the host %s", "start any host"},
}

// Keys returns the keys of [permissions].
func Keys() (all []string) {
	for _, k := range Kinds {
		if k.Key != "" && !slices.Contains(all, k.Key) {
			all = append(all, k.Key)
		}
	}
	return all
}

// GrantHint returns the command's flag that allows the names, quoted for a shell. Without names, it
// returns the flag that allows the whole kind.
func (k Kind) GrantHint(names ...string) string {
	flag := "--" + Kinds[k].Flag
	if len(names) == 0 {
		return flag
	}
	line := make([]string, len(names)) // fields of a line of CSV
	for i, n := range names {
		if line[i] = n; strings.ContainsAny(n, ",\"\n") {
			line[i] = `"` + strings.ReplaceAll(n, `"`, `""`) + `"`
		}
	}
	list := strings.Join(line, ",")
	if strings.ContainsFunc(list, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'`$&|;<>()[]{}*?!#~\\^", c) }) {
		list = "'" + strings.ReplaceAll(list, "'", `'\''`) + "'"
	}
	return flag + "=" + list
}

// List is the allowed part of a kind: all targets, or those in Names.
type List struct {
	All   bool
	Names []string
}

// Grants are the permissions with which a caller runs a program. The zero Grants allow
// everything.
type Grants struct {
	// Allow limits the kinds that it contains to their lists.
	Allow map[Kind]List
	// Sandbox refuses all targets of the kinds that are not in Allow.
	Sandbox bool
	// Hint returns how the caller allows targets of a kind, for messages. If it is nil, the caller
	// is the command: Kind.GrantHint.
	Hint func(k Kind, names ...string) string
}

func (g *Grants) hint(k Kind, names ...string) string {
	if g.Hint != nil {
		return g.Hint(k, names...)
	}
	return k.GrantHint(names...)
}

// allowedTargets returns the allowed targets of a kind. limited is false if all targets are
// allowed.
func (g *Grants) allowedTargets(k Kind) (names []string, limited bool) {
	l, ok := g.Allow[k]
	if l.All || !ok && !g.Sandbox {
		return nil, false
	}
	return l.Names, true
}

// Decides reports whether the grants limit a kind.
func (g *Grants) Decides(k Kind) bool {
	_, ok := g.Allow[k]
	return ok || g.Sandbox
}

// Check returns an error for a name in the grants that can never match a target, such as a URL
// instead of a host. The error shows the correct form.
func (g *Grants) Check() error {
	for _, name := range g.Allow[Net].Names {
		if scheme, rest, ok := strings.Cut(name, "://"); ok {
			host, _, _ := strings.Cut(rest, "/")
			return fmt.Errorf("%s takes hosts, not URLs: remove %s://, as in %s", g.hint(Net), scheme, g.hint(Net, host))
		}
	}
	for _, name := range g.Allow[Env].Names {
		if variable, _, ok := strings.Cut(name, "="); ok {
			return fmt.Errorf("%s takes names of variables: write %s to pass the variable unchanged", g.hint(Env), g.hint(Env, variable))
		}
	}
	return nil
}
