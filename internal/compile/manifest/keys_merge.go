package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Placeholders are the names in braces that the commands of [merge.X.pull_request] may contain.
var Placeholders = []string{"id", "branch", "into", "title", "body", "commit", "remote"}

// mergeKeys returns the keys of [merge.X], and those of [workspace] about gates.
func mergeKeys() []Key {
	return slices.Concat(gateKeys("workspace", "1800"), []Key{
		{Path: "merge.*.into", Type: String, nonempty: true, Example: `"main"`, Doc: "The branch into which the queue merges; by default the name of the section."},
	}, gateKeys("merge.*", ""), []Key{
		{Path: "merge.*.batch", Type: Integer, Min: 1, Default: "8", Example: "4", Doc: "The maximum number of changes that are tested together."},
		{Path: "merge.*.retry", Type: Integer, Default: "0", Example: "1", Doc: "How often a gate that fails for a batch runs again before the culprit is searched."},
		{Path: "merge.*.method", Type: Enum, Values: []string{"merge", "squash"}, Default: `"merge"`, Example: `"squash"`, Doc: "Whether a change lands as a merge, or as one commit with its author and message. With `squash`, `batch` is 1."},
		{Path: "merge.*.checked_out", Type: Enum, Values: []string{"refuse", "update"}, Default: `"refuse"`, Example: `"update"`, Doc: "The action if a worktree has the branch checked out: refuse to merge, or update that worktree if it has no uncommitted changes."},
		{Path: "merge.*.remove_workspace", Type: Bool, Default: "true", Example: "false", Doc: "Whether the workspace of a change that has landed is removed, unless it is in use or has work that was not submitted."},
		{Path: "merge.*.push", Type: String, nonempty: true, Example: `"origin"`, Doc: "The remote whose branch the queue moves, before the local one."},
		{Path: "merge.*.via", Type: Enum, Values: []string{"local", "pull-request"}, Default: `"local"`, Example: `"local"`, Doc: "Whether a change whose gate passes is merged, or its branch is pushed and a pull request is created."},
		{Path: "merge.*.file", Type: String, nonempty: true, Default: `".concerto/merge.db"`, Example: `"merge.db"`, Doc: "The queue's database, relative to the manifest."},

		{Path: "merge.*.pull_request.create", Type: Strings, nonempty: true, check: checkPlaceholders, Example: `["gh", "pr", "create", "--head", "{branch}", "--base", "{into}", "--title", "{title}", "--body-file", "{body}"]`,
			Doc: "The command that creates a pull request. In its arguments, `{id}`, `{branch}`, `{into}`, `{title}`, `{body}` (a file), `{commit}` and `{remote}` are replaced, and `{{` is `{`. The last word of its output that begins with `http` is the URL."},
		{Path: "merge.*.pull_request.find", Type: Strings, nonempty: true, check: checkPlaceholders, Example: `["sh", "find.sh", "{branch}"]`,
			Doc: "The command that finds a pull request: it prints its URL and exits with 0, or exits with 1 if there is none."},
	})
}

// gateKeys returns the keys about the gate in a section.
func gateKeys(section, timeout string) []Key {
	without := ""
	if timeout == "" {
		without = " By default those of [workspace]."
	}
	return []Key{
		{Path: section + ".gate", Type: Commands, Example: `[["make", "test"]]`, Doc: "Commands that must exit with 0 before a change is merged, each a program and its arguments, without a shell. With `[]`, changes are merged without a gate." + without},
		{Path: section + ".gate_timeout", Type: Number, Unit: "seconds", Default: timeout, Example: "600", Doc: "The maximum duration of each command of the gate." + without},
	}
}

var queueName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// merge reads [merge.X].
func (r *reader) merge(n *node, v any) {
	m := &Merge{Name: n.name, Config: json.RawMessage("{}")}
	r.m.Merges = append(r.m.Merges, m)
	shown := "merge." + n.name
	before := r.unknown
	m.At = r.section("merge.*", n, v, &target{config: &m.Config}, shown)
	if !queueName().MatchString(n.name) || strings.Contains(n.name, "..") || strings.HasSuffix(n.name, ".") || strings.HasSuffix(n.name, ".lock") || strings.HasSuffix(n.name, ".json") {
		r.add(diag.ManifestValue.At(n.key, "invalid name of a merge queue: %q", n.name).
			Hint("use 1 to 64 letters, digits, `.`, `_` and `-`, such as `[merge.release-1]`, and set the branch: `into = \"release/1\"`"))
	}
	values, _ := v.(map[string]any)
	pull := n.child("pull_request")
	if r.unknown == before && values["via"] == "pull-request" && (pull == nil || pull.kind == table && pull.child("create") == nil) {
		r.add(diag.ManifestMissing.At(n.key, "[%s] has no `pull_request.create`", shown).Hint("add [%s.pull_request] with `create = %s`", shown, row("merge.*.pull_request.create").Example))
	}
}

// checkPlaceholders returns an error if a text contains a placeholder that does not exist.
func checkPlaceholders(text string) error {
	for {
		_, rest, ok := strings.Cut(text, "{")
		if !ok {
			return nil
		}
		if rest, ok = strings.CutPrefix(rest, "{"); ok {
			text = rest
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		switch near := suggest.Nearest(name, Placeholders); {
		case !closed:
			return fmt.Errorf("`{` begins a placeholder that does not end: write `{{` for a brace")
		case slices.Contains(Placeholders, name):
		case near != "":
			return fmt.Errorf("unknown placeholder {%s}: did you mean {%s}?", name, near)
		default:
			return fmt.Errorf("unknown placeholder {%s}: use %s, or `{{` for a brace", name, "{"+strings.Join(Placeholders, "}, {")+"}")
		}
		text = after
	}
}
