package permit

import (
	"fmt"
	"strings"
)

// Kind is what a permission is about.
type Kind uint8

// The kinds.
const (
	Read  Kind = iota // files and directories, to read
	Write             // files and directories, to change
	Net               // network hosts
	Env               // environment variables
	Run               // commands
	Host              // hosts of the program
)

// Info describes a kind. The command's flags with their help, the messages of
// refusals, and the list before a first run are all made from it.
type Info struct {
	Kind  Kind
	Flag  string // of the command, without dashes
	Doc   string // of the flag, for --help, with what it lists in backquotes
	Key   string // of [permissions], which limits the kind too; "" where the manifest's sections grant all that they name
	Doing string // what a message calls the refused thing, %s
	May   string // what a program may do with the thing, %s, for the list before a first run
	Any   string // the same without a list of things
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

// Give is the command's flag that allows these names, quoted for a shell;
// without names, the flag that allows the whole kind.
func (k Kind) Give(names ...string) string {
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

// List is what of a kind is allowed: all, or what has one of Names.
type List struct {
	All   bool
	Names []string
}

// Grants are what somebody allows a program. The zero Grants allow everything.
type Grants struct {
	// Allow narrows the kinds that it has to what they list.
	Allow map[Kind]List
	// Sandbox refuses all of the kinds that Allow does not have.
	Sandbox bool
}

// list gives what is allowed of a kind; limited is false when that is all.
func (g *Grants) list(k Kind) (names []string, limited bool) {
	l, given := g.Allow[k]
	if l.All || !given && !g.Sandbox {
		return nil, false
	}
	return l.Names, true
}

// Decides says whether the grants say anything about a kind.
func (g *Grants) Decides(k Kind) bool {
	_, given := g.Allow[k]
	return given || g.Sandbox
}

// Check finds a name in the grants that can never match, such as an address
// where a host is wanted. The error says how to write it.
func (g *Grants) Check() error {
	for _, name := range g.Allow[Net].Names {
		if scheme, rest, ok := strings.Cut(name, "://"); ok {
			host, _, _ := strings.Cut(rest, "/")
			return fmt.Errorf("--%s takes hosts, not addresses: leave out %s://, as in %s", Kinds[Net].Flag, scheme, Net.Give(host))
		}
	}
	for _, name := range g.Allow[Env].Names {
		if variable, _, ok := strings.Cut(name, "="); ok {
			return fmt.Errorf("--%s takes names: %s lets the program have the variable as it is", Kinds[Env].Flag, Env.Give(variable))
		}
	}
	return nil
}
