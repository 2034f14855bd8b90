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

// Info is all there is to say about a kind: the flags of the command, their
// help, the messages of refusals and the list before a first run are made of it.
type Info struct {
	Kind   Kind
	Flag   string // of the command, without dashes
	Values string // what the flag lists, for --help
	Doc    string // what the flag allows, for --help
	Key    string // of [permissions], which limits the kind too; "" where the manifest's sections grant all that they name
	Doing  string // the format of what a message calls the refused thing
	Whole  string // the kind without a list, for the list before a first run
}

// Kinds are all kinds, by Kind.
var Kinds = [...]Info{
	Read: {Read, "allow-read", "PATHS", "let it read files, and what is in directories", "fs",
		"reading %s", "reads files"},
	Write: {Write, "allow-write", "PATHS", "let it write, move and remove files, and what is in directories", "fs",
		"writing %s", "writes files"},
	Net: {Net, "allow-net", "HOSTS", "let it call hosts, models among them: example.com, example.com:8080, *.example.com", "net",
		"calling %s", "calls the network"},
	Env: {Env, "allow-env", "NAMES", "let it have environment variables", "env",
		"reading the environment variable %s", "reads environment variables"},
	Run: {Run, "allow-run", "COMMANDS", "let it run commands, those of [mcp.X] among them", "run",
		"running %s", "runs commands"},
	Host: {Host, "allow-host", "NAMES", "let it start hosts, by name", "",
		"starting the host %s", "starts hosts"},
}

// Give is how the command's flag for something is written, fit for a shell; ""
// stands for the whole kind.
func (k Kind) Give(name string) string {
	flag := "--" + Kinds[k].Flag
	if name == "" {
		return flag
	}
	if strings.ContainsAny(name, ",\"\n") { // the flag's value is a line of CSV
		name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	if strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'`$&|;<>()[]{}*?!#~\\^", c) }) {
		return flag + "='" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return flag + "=" + name
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

// Check finds what can stand for nothing in what is granted, and says how it is
// written.
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
