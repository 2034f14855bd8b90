package browser

import (
	_ "embed"
	"fmt"
	"strings"
)

// axeSource is axe-core, which finds accessibility errors.
//
//go:embed axe/axe.min.js
var axeSource string

// Axe runs axe-core on the page and fails the test for each serious or critical accessibility
// error. It checks WCAG 2.2 A and AA and best practices.
func (b *Tab) Axe() {
	b.t.Helper()
	b.Eval("if (!window.axe) { " + axeSource + " }")
	found, _ := b.Eval(`axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) =>
		r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) =>
			v.impact + ": " + v.id + ": " + v.help + "\n" + v.nodes.slice(0, 5).map((n) => "    " + n.html.slice(0, 200) + "\n    " + n.failureSummary.replaceAll("\n", "\n    ")).join("\n")))`).([]any)
	var lines []string
	for _, f := range found {
		lines = append(lines, fmt.Sprint(f))
	}
	if len(lines) > 0 {
		b.t.Errorf("axe reports accessibility errors:\n%s", strings.Join(lines, "\n"))
	}
}
