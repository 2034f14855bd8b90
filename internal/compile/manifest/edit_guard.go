package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// AddGuardRule returns a manifest with a further entry in a list of [guard.permissions], such as
// "commands.allow". All other text stays as it is. It returns an error if the manifest is not valid
// or has a form that cannot be edited.
func AddGuardRule(text []byte, key, rule string) ([]byte, error) {
	file := source.NewFile(FileName, text)
	m, list := Parse(file)
	for _, d := range list.Sorted() {
		if d.Severity() == diag.Error {
			return nil, fmt.Errorf("%s:%d: %s", FileName, file.LineOf(d.Span.Start), d.Message)
		}
	}
	own := fmt.Errorf("add %s to `%s` in [guard.permissions] of %s yourself", pkg.QuoteTOML(rule), key, FileName)
	if m.Guard == nil {
		return nil, own
	}
	table, name, _ := strings.Cut(key, ".")
	entry := pkg.QuoteTOML(rule)
	var out []byte
	rules := m.Guard.node.child("permissions")
	var of, values *node
	if rules != nil {
		of = rules.child(table)
	}
	if of != nil {
		values = of.child(name)
	}
	header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*guard[ \t]*\.[ \t]*permissions[ \t]*\.[ \t]*` + regexp.QuoteMeta(table) + `[ \t]*\][ \t]*(#.*)?(\r?\n|$)`).FindIndex(text)
	switch {
	case values != nil && values.kind == array:
		out = insertLast(text, values, entry)
	case of != nil && text[of.value.Start] == '{':
		out = insertLast(text, of, " "+name+" = ["+entry+"]")
	case header != nil:
		out = insertAt(text, header[1], name+" = ["+entry+"]\n")
	case of == nil && (rules == nil || text[rules.value.Start] != '{'):
		out = append(bytes.TrimRight(slices.Clone(text), "\n"), "\n\n[guard.permissions."+table+"]\n"+name+" = ["+entry+"]\n"...)
	default:
		return nil, own
	}
	if !hasRule(out, table, name, rule) {
		return nil, own
	}
	return out, nil
}

// insertLast inserts a text after the last entry of an array or of a table in braces.
func insertLast(text []byte, n *node, entry string) []byte {
	if k := len(n.children); k > 0 {
		return insertAt(text, int(n.children[k-1].value.End), ", "+strings.TrimLeft(entry, " "))
	}
	return insertAt(text, int(n.value.Start)+1, entry)
}

func insertAt(text []byte, at int, more string) []byte {
	return slices.Concat(text[:at], []byte(more), text[at:])
}

// hasRule reports whether a manifest is valid and its list of [guard.permissions] ends with a rule.
func hasRule(text []byte, table, name, rule string) bool {
	m, list := Parse(source.NewFile(FileName, text))
	if m.Guard == nil || slices.ContainsFunc(list.Sorted(), func(d *diag.Diagnostic) bool { return d.Severity() == diag.Error }) {
		return false
	}
	var rules struct {
		Permissions map[string]json.RawMessage `json:"permissions"`
	}
	var lists map[string][]string
	if json.Unmarshal(m.Guard.Config, &rules) != nil || json.Unmarshal(rules.Permissions[table], &lists) != nil {
		return false
	}
	all := lists[name]
	return len(all) > 0 && all[len(all)-1] == rule
}
