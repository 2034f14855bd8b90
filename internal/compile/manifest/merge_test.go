package manifest

import (
	"strings"
	"testing"
)

// TestMergeErrors checks the errors of [merge.X] and of the gate in [workspace].
func TestMergeErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[merge.\"a/b\"]\n", `invalid name of a merge queue: "a/b"`},
		{"[merge.\"a..b\"]\n", `invalid name of a merge queue: "a..b"`},
		{"[merge.\"a.lock\"]\n", `invalid name of a merge queue: "a.lock"`},
		{"[merge.main]\nvia = \"pull-request\"\n", "[merge.main] has no `pull_request.create`"},
		{"[merge.main]\nvia = \"email\"\n", `unknown via "email"`},
		{"[merge.main]\nbatch = 0\n", "`merge.main.batch` is 0, which is less than 1"},
		{"[merge.main]\nretry = -1\n", "`merge.main.retry` is -1, which is less than 0"},
		{"[merge.main]\nmethod = \"rebase\"\n", `unknown method "rebase"`},
		{"[merge.main]\ngate = [\"make\"]\n", "`merge.main.gate` must be an array of commands"},
		{"[merge.main]\ngate_timeout = 0\n", "`merge.main.gate_timeout` must be more than 0"},
		{"[merge.main]\nbtch = 1\n", "unknown key `btch` in [merge.main]"},
		{"[merge.main.pull_request]\ncreate = []\n", "contains no command"},
		{"[merge.main.pull_request]\ncreate = [\"gh\", \"{branh}\"]\n", `"{branh}" in ` + "`merge.main.pull_request.create`: unknown placeholder {branh}: did you mean {branch}?"},
		{"[merge.main.pull_request]\nfind = [\"gh\", \"{nothing-like-it}\"]\n", "unknown placeholder {nothing-like-it}: use {id}"},
		{"[merge.main.pull_request]\nfind = [\"gh\", \"{id\"]\n", "does not end"},
		{"[workspace]\ngate = \"make test\"\n", "`workspace.gate` must be an array of commands"},
		{"[merge]\ninto = \"main\"\n", "must be in a section with a name"},
	} {
		_, list := parse(c.text)
		var all strings.Builder
		for _, d := range list.Sorted() {
			all.WriteString(d.Message + "\n")
		}
		if !strings.Contains(all.String(), c.want) {
			t.Errorf("%s\nreports %s, want %s", c.text, all.String(), c.want)
		}
	}
	m, list := parse("[merge.x]\ngate = []\n[merge.x.pull_request]\ncreate = [\"a\", \"{{id} {title}\"]\n")
	if list.Errors() > 0 || len(m.Merges) != 1 || string(m.Merges[0].Config) != `{"gate":[],"pull_request":{"create":["a","{{id} {title}"]}}` {
		t.Errorf("a valid section: %v, %s", list, m.Merges[0].Config)
	}
}
