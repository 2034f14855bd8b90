package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:generate go run ./gen ../../../spec/diagnostics.md

// areas lists the parts of the catalogue in the order of the manual. The first digits of a
// diagnostic's code determine its part.
var areas = []struct{ prefixes, title, doc string }{
	{"00", "Characters", "Invalid characters, literals and names."},
	{"01", "Grammar", "Programs that the grammar does not allow."},
	{"02", "Names", "Declaration and visibility of names."},
	{"03", "Types", "Types of values, and the types that are expected."},
	{"04", "Calls", "Functions, methods and their arguments."},
	{"05", "Variables and flow", "Mutability, assignment and the order of execution."},
	{"06", "Patterns", "Patterns of `match`, `let`, `for` and parameters."},
	{"07", "Agents, hosts, tools, pipelines", "Declarations with effects, and `listen`."},
	{"08", "Manifest", "`Concerto.toml`."},
	{"090", "Limits", "Limits that only generated programs reach."},
	{"091 092", "Tools of an application", "Tool files, and the sections [tools.X] of `Concerto.toml`."},
	{"10", "The compiler itself", "Bugs of the compiler."},
}

// referenceManifest is the Concerto.toml with which the programs of the catalogue are compiled.
const referenceManifest = `[connections.demo]
provider = "scripted"
default_model = "m"

[connections.open]
provider = "openai"
api_key_env = "OPENAI_API_KEY"

[connections.vendor]
provider = "anthropic"
api_key_env = "KEY"

[connections.plain]
provider = "openai"
base_url = "http://localhost:8080/v1"

[hosts.worker]
command = "./worker"
output_format = "json"

[hosts.plain]
command = "./plain"

[hosts.quiet]
command = "./quiet"
output_format = "json"
message_types = ["progress", "result"]

[mcp.Files]
command = "./files"
`

// maxShown is the maximum length in bytes of a program that the reference contains.
const maxShown = 2000

// Reference returns the text of spec/diagnostics.md, which is generated from the catalogue. It
// describes every diagnostic, with a wrong program and a corrected one.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Diagnostics

<!-- written from the catalogue in diag/ by "make gen"; do not edit -->

Every error and warning has a code. ` + "`concerto explain CODE`" + ` shows its entry in the terminal. A program with errors (E) does not
run; one with warnings (W) does. Each entry has a program that causes only this diagnostic, and a corrected program.
Programs that use a connection or a host are compiled with this manifest:

` + "```toml page\n" + referenceManifest + "```\n")
	all := slices.Clone(catalogue)
	slices.SortFunc(all, func(x, y *Info) int {
		return cmp.Or(strings.Compare(x.Code[1:], y.Code[1:]), strings.Compare(x.Code, y.Code))
	})
	for _, a := range areas {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", a.title, a.doc)
		for _, i := range all {
			if slices.ContainsFunc(strings.Fields(a.prefixes), func(p string) bool { return strings.HasPrefix(i.Code[1:], p) }) {
				entry(&b, i)
			}
		}
	}
	return b.String()
}

// entry writes one diagnostic.
func entry(b *strings.Builder, i *Info) {
	mark := "error="
	if i.Severity() == Warning {
		mark = "warn="
	}
	fmt.Fprintf(b, "\n### %s: %s\n\n%s\n", i.Code, i.Title, i.Explain)
	for _, p := range i.Pairs() {
		example(b, i, "Wrong", " "+mark+i.Code, p.Bad)
		example(b, i, "Right", " norun", p.Good)
	}
}

// example writes a program. It omits a program that is too long or not valid UTF-8.
func example(b *strings.Builder, i *Info, label, mark, text string) {
	if text == "" || len(text) > maxShown || !utf8.ValidString(text) {
		return
	}
	word := "concerto"
	switch {
	case i.Manifest:
		word, mark = "toml", strings.TrimSuffix(mark, " norun")
	case i.Tools:
		word, mark = "yaml", strings.TrimSuffix(mark, " norun")
	}
	fmt.Fprintf(b, "\n%s:\n\n```%s%s\n%s\n```\n", label, word, mark, strings.TrimSuffix(text, "\n"))
}
