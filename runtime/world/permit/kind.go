package permit

import (
	"fmt"
	"strings"
)

// Kind is a kind of permission.
type Kind uint8

// The kinds.
const (
	Read  Kind = iota // reading files and directories
	Write             // changing files and directories
	Net               // network hosts
	Env               // environment variables
	Run               // commands
	Host              // hosts of the program
)

// Info describes a kind. It is the source of the command's flags with their help, the messages of
// refusals, and the list before a first run.
type Info struct {
	Kind  Kind
	Flag  string // of the command, without dashes
	Doc   string // of the flag, for --help, with the name of its values in backquotes
	Key   string // of [permissions], which also limits the kind; "" if the manifest's sections grant everything that they name
	Doing string // a phrase for the refused access in a message, with %s
	May   string // the access that a program has, with %s, for the list before a first run
	Any   string // the same without a list of targets
}

// Kinds are all kinds, by Kind.
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

// GrantHint returns the command's flag that allows these names, quoted for a shell; without names,
// the flag that allows the whole kind.
func (k Kind) GrantHint(names ...string) string {
	flag := "--" + Kinds[k].Flag
	if len(names) == 0 {
		return flag
	}
	line := make([]string, len(names)) // of CSV
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

// List is the allowed part of a kind: all, or the targets in Names.
type List struct {
	All   bool
	Names []string
}

// Grants are the permissions of a program that its caller allows. The zero Grants allow everything.
type Grants struct {
	// Allow narrows its kinds to their lists.
	Allow map[Kind]List
	// Sandbox refuses all kinds that are not in Allow.
	Sandbox bool
}

// allowedTargets returns the allowed targets of a kind; limited is false if all are.
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

// Check finds a name in the grants that can never match, such as a URL where a host is required.
// The error shows the correct form.
func (g *Grants) Check() error {
	for _, name := range g.Allow[Net].Names {
		if scheme, rest, ok := strings.Cut(name, "://"); ok {
			host, _, _ := strings.Cut(rest, "/")
			return fmt.Errorf("--%s takes hosts, not URLs: remove %s://, as in %s", Kinds[Net].Flag, scheme, Net.GrantHint(host))
		}
	}
	for _, name := range g.Allow[Env].Names {
		if variable, _, ok := strings.Cut(name, "="); ok {
			return fmt.Errorf("--%s takes names of variables: write %s to pass the variable unchanged", Kinds[Env].Flag, Env.GrantHint(variable))
		}
	}
	return nil
}
