package web_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// TestUnseen opens requests of which the relay has only a part. Neither a click nor a key approves
// them, the card states why, and Deny works. Buttons of cards with the same title have different
// names.
func TestUnseen(t *testing.T) {
	browser.Need(t)
	t.Parallel()
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_a", webtest.Data{"title": "migration"})
	run.Ask("big", webtest.Data{"prompt": "Call the tool upload", "op_tool": "upload", "op_args": webtest.Data{"$truncated": 70_000, "preview": `{"data":"abc`}})
	b := enter(t, r, webtest.Operator, "#/inbox")
	b.See("Only a part of 68.4 KiB of arguments was sent, so it cannot be approved here. Deny it, or decide on the machine of the run.")
	b.Wait("__see.one('@deny').ariaDisabled === 'false'")
	if got := b.Eval("(() => { const e = __see.one('@approve'); return e.ariaDisabled + ' ' + document.getElementById(e.getAttribute('aria-describedby')).innerText.slice(0, 11) })()"); got != "true Only a part" {
		t.Errorf("Approve is %v, want disabled with the reason", got)
	}
	b.Axe()
	b.Eval("__see.one('@approve').click()") // Click of the kit waits until a button is enabled
	b.Press("j", "a", "Enter", "Escape")
	decide(b, "@deny")
	deny := machine.Next(protocol.RunDeny) // an approval would arrive first
	if d, err := protocol.Decode[protocol.Decide](&deny); err != nil || d.RequestID != "big" {
		t.Errorf("denied request = %+v, %v; want big", d, err)
	}
	run.Resolve("big", "deny", webtest.Operator)
	b.See("No open requests.")
	for id, command := range map[string]string{"q1": "git push", "q2": "git push", "q3": "make\nmake install"} {
		run.Ask(id, webtest.Data{"prompt": "Run a command", "op_tool": "bash", "op_args": webtest.Data{"command": command}})
	}
	other := webtest.Begin(machine, "run_b", webtest.Data{"title": "release"})
	other.Ask("q4", webtest.Data{"prompt": "Run a command", "op_tool": "bash", "op_args": webtest.Data{"command": "make\nmake install"}})
	b.Wait("__see.all('@approve').length === 4")
	names, _ := b.Eval("[...new Set(__see.all('@approve').map((e) => e.ariaLabel))].sort().join('|')").(string)
	if all := strings.Split(names, "|"); len(all) != 4 || !strings.Contains(names, "Approve: Run a command, git push, migration (") || !strings.Contains(names, "Approve: Run a command, make, release") {
		t.Errorf("names of the buttons = %s, want four", names)
	}
	b.Axe()
}
