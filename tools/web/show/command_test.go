package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/testkit/testcommand"
)

// mark matches the text that the page shows instead of an invisible character.
var mark = regexp.MustCompile(`⟦[A-Z0-9+]+⟧`)

// seen reports whether a page may show a character without a mark. Such characters include all
// spaces and the variation selector that is the second character of ❤️.
func seen(r rune) bool {
	return testcommand.Visible(r) || r == '\n' || r == '\t' || r == '\ufe0f' || unicode.Is(unicode.Zs, r)
}

// TestCardShowsWholeCommand checks that an approval card shows the whole command, with a mark for
// each invisible character. A shortened summary must end with the number of missing characters.
func TestCardShowsWholeCommand(t *testing.T) {
	b := show(t, "approval")
	b.Eval(strings.ReplaceAll(drawn, "globalThis.drawn = (text) => {", `const { ApprovalCard } = await import(at.replace("style.css", "parts/approval.js"));
	globalThis.card = (command, prompt) => {
		const box = document.createElement("div");
		render(html(ApprovalCard, { request: { request_id: "r", op_tool: "bash", prompt, op_args: { command } } }), box);
		return [box.querySelector(".approval-arg pre").textContent, box.querySelector("h2").textContent];
	};
	globalThis.drawn = (text) => {`))
	for _, command := range testcommand.Hostile() {
		described := "Bash: " + terminal.Brief(strings.Trim(command, " \t\r\n"), 500)
		args, err := json.Marshal([]string{command, described})
		if err != nil {
			t.Fatal(err)
		}
		shown := b.Eval(fmt.Sprintf("card(...%s)", args)).([]any)
		whole, prompt := shown[0].(string), shown[1].(string)
		var want strings.Builder
		marks := 0
		for _, r := range strings.ReplaceAll(command, "\r\n", "\n") {
			if seen(r) {
				want.WriteRune(r)
			} else {
				marks++
			}
		}
		if got := mark.ReplaceAllString(whole, ""); got != want.String() || len(mark.FindAllString(whole, -1)) != marks {
			t.Errorf("%.80q is shown as %.200q", command, whole)
		}
		if strings.ReplaceAll(prompt, "\ufe0f", "") != strings.ReplaceAll(described, "\ufe0f", "") {
			t.Errorf("%.80q is described as %.200q", described, prompt)
		}
		testcommand.RequireWhole(t, "the description", strings.TrimPrefix(prompt, "Bash: "), command, 500)
	}
}
