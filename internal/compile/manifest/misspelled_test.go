package manifest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// TestMisspelledKeys misspells one name of a manifest, a key or a section, in each of 1,000
// manifests. Each is refused with exactly one error, which is about the misspelled name, and whose
// first suggestion is the name that was meant. The free names of users, such as those of headers
// and parameters, are not misspelled.
func TestMisspelledKeys(t *testing.T) {
	rows := slices.DeleteFunc(slices.Clone(Keys()), func(k Key) bool {
		// Replies are elements of arrays, and two examples are only valid with other sections.
		return k.inFiles || strings.Contains(k.Path, "[]") || k.Path == "run.unknown.*" || k.Path == "connections.*.fallback" || k.Path == "dependencies.*.dir"
	})
	show := func(seed uint64) string { return rows[seed%uint64(len(rows))].Path }
	randtest.Run(t, "internal/compile/manifest", 1000, show, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		k := rows[seed%uint64(len(rows))]
		names := strings.Split(k.Path, ".")
		at := r.IntN(len(names))
		for names[at] == "*" {
			at = r.IntN(len(names))
		}
		valid := withKey(&k, names)
		if _, found := Parse(source.NewFile(FileName, []byte(valid))); found.HasErrors() {
			t.Fatalf("the manifest is not valid before it is misspelled:\n%s%v", valid, found.Sorted()[0])
		}
		meant := names[at]
		wrong := misspell(r, meant, namesIn(strings.Join(names[:at], ".")))
		names[at] = wrong
		text := withKey(&k, names)
		_, found := Parse(source.NewFile(FileName, []byte(text)))
		all := found.Sorted()
		if len(all) != 1 || !found.HasErrors() || !strings.Contains(all[0].Message, "unknown key `"+wrong+"`") {
			t.Fatalf("%d diagnostics, want one error about `%s`\n%s%v", len(all), wrong, text, all)
		}
		if hint := strings.Join(all[0].Hints, "\n"); !strings.HasPrefix(hint, "did you mean `"+meant+"`?") {
			t.Errorf("`%s` instead of `%s`: hint %q\n%s", wrong, meant, hint, text)
		}
	})
}

// needs contains the lines that sections require.
var needs = map[string][]string{
	"connections.*":          {`provider = "openai"`},
	"connections.*.prices.*": {"input = 1.0", "output = 1.0"},
	"hosts.*":                {`command = "a"`},
	"mcp.*":                  {`command = "a"`, `url = "http://h"`},
	"mcp.*.oauth":            {`client_id = "a"`, `client_secret_env = "B"`},
	"dependencies.*":         {`git = "https://example.com/ada/text"`, `tag = "v1.2.0"`},
	"merge.*.pull_request":   {`create = ["gh"]`},
	"tools.*":                {`description = "d"`, `command = ["a"]`},
	"tools.*.command":        {`run = ["a"]`},
	"tools.*.http":           {`url = "https://example.com"`},
	"tools.*.mcp":            {`server = "s"`, `tool = "t"`},
	"tools.*.concerto":       {`file = "f.conc"`, `function = "f"`},
}

// withKey returns a manifest that contains the key k under names, in sections with the keys that
// they require.
func withKey(k *Key, names []string) string {
	var b strings.Builder
	name := "x"
	if strings.HasPrefix(k.Path, "guard.agents.") {
		name = "codex"
	}
	path, shown := strings.Split(k.Path, "."), strings.Split(strings.ReplaceAll(strings.Join(names, "."), "*", name), ".")
	for i := 1; i < len(path); i++ {
		section := strings.Join(path[:i], ".")
		if needs[section] == nil && i+1 < len(path) {
			continue
		}
		fmt.Fprintf(&b, "[%s]\n", strings.Join(shown[:i], "."))
		for _, line := range needs[section] {
			if name, _, _ := strings.Cut(line, " "); name != path[i] && !(slices.Contains(handlers, name) && slices.Contains(handlers, path[i])) && !(name == "tag" && path[i] == "commit") {
				fmt.Fprintln(&b, line)
			}
		}
		if section == "hosts.*" && len(k.Only) > 0 {
			fmt.Fprintf(&b, "transport = %q\n", k.Only[0])
		}
	}
	return b.String() + shown[len(shown)-1] + " = " + k.Example + "\n"
}

// misspell returns name with one typing error: a letter is missing, wrong or added, or two are
// swapped. No other name is as similar, and the result is no word of other tools.
func misspell(r *rand.Rand, name string, others []string) string {
	for {
		b := []byte(name)
		i, letter := r.IntN(len(b)), byte('a'+r.IntN(26))
		switch r.IntN(4) {
		case 0:
			b = slices.Delete(b, i, i+1)
		case 1:
			b[i] = letter
		case 2:
			b = slices.Insert(b, i, letter)
		default:
			j := min(i+1, len(b)-1)
			b[i], b[j] = b[j], b[i]
		}
		wrong := string(b)
		if wrong != "" && wrong != name && foreign.Manifest.Find(wrong).HintText() == "" && !slices.ContainsFunc(others, func(o string) bool {
			return o != name && suggest.EditDistance(wrong, o) <= suggest.EditDistance(wrong, name)
		}) {
			return wrong
		}
	}
}
