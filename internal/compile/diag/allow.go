package diag

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Allowable returns why a code cannot be allowed or denied, and what to write instead. Both are
// empty if the code is that of a warning.
func Allowable(code string) (problem, hint, near string) {
	i := Lookup(code)
	switch {
	case i == nil:
		hint = "`concerto explain` lists the codes"
		if near = suggest.Nearest(strings.ToUpper(code), warnings()); near != "" {
			hint = "did you mean `" + near + "`?"
		}
		return fmt.Sprintf("no warning has the code `%s`", code), hint, near
	case i.Severity() == Error:
		return fmt.Sprintf("`%s` is an error, and only warnings can be allowed or denied", code), "fix it instead: `concerto explain " + code + "` shows how", ""
	}
	return "", "", ""
}

// Deny marks the diagnostics with these codes as denied, or all of them if all is true.
func (l *List) Deny(codes []string, all bool) {
	for i, d := range l.all {
		if all || slices.Contains(codes, d.Info.Code) {
			denied := *d // a check may share its diagnostics with a later check
			denied.Denied = true
			l.all[i] = &denied
		}
	}
}

// warnings returns the codes of all warnings.
func warnings() []string {
	var codes []string
	for _, i := range catalogue {
		if i.Severity() == Warning {
			codes = append(codes, i.Code)
		}
	}
	return codes
}

// Without returns the list without the warnings with these codes.
func (l *List) Without(codes []string) List {
	if len(codes) == 0 {
		return *l
	}
	allowed := map[string]bool{}
	for _, c := range codes {
		allowed[c] = true
	}
	var out List
	for _, d := range l.all {
		if d.Severity() == Error || !allowed[d.Info.Code] {
			out.Add(d)
		}
	}
	return out
}
