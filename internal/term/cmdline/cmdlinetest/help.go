package cmdlinetest

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// verbs lists the words with which the short description of a command may begin.
var verbs = strings.Fields("Add Answer Approve Attach Call Change Check Commit Compare Compile Confirm Connect Continue Copy Create Delete Deny Diagnose Drop Execute Explain Follow Format Hash Inspect Install Keep Limit List Log " +
	"Make Manage Merge Open Pair Pause Play Print Release Remove Replay Resume Revoke Run Send Serve Set Share Show Start Stop Store Submit Talk Test Uninstall Update Upgrade Use Verify Write")

// Help checks the help of all commands: its length and width, that each command has an example, and
// that short descriptions are in the imperative.
func Help(t *testing.T, root *cobra.Command, topics []cmdline.Topic) {
	t.Helper()
	for _, c := range All(root) {
		verb, _, _ := strings.Cut(c.Short, " ")
		if !slices.Contains(verbs, strings.TrimSuffix(verb, ",")) {
			t.Errorf("%s: the description %q does not begin with one of verbs", c.CommandPath(), c.Short)
		}
		if strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the description ends with a full stop", c.CommandPath())
		}
		if c.Hidden && strings.Contains(c.Short, "(") || c.Hidden && c.Example == "" && !strings.Contains(c.Long, "former name") {
			continue // the command is hidden or only groups other commands
		}
		if c.Example == "" {
			t.Errorf("%s: no example", c.CommandPath())
		}
		var text strings.Builder
		c.SetOut(&text)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		c.SetOut(nil)
		most := cmdline.Lines
		if c == root { // it lists all commands
			most += 12
		}
		page(t, c.CommandPath(), text.String(), most)
	}
	for _, topic := range topics {
		page(t, "topic "+topic.Name, topic.Text, cmdline.Lines)
	}
}

func page(t *testing.T, name, text string, most int) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > most {
		t.Errorf("%s: the help has %d lines, more than %d", name, len(lines), most)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > cmdline.Width {
			t.Errorf("%s: a line of help has %d columns: %s", name, n, line)
		}
	}
}
