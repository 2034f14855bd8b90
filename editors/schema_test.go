package editors_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
)

// TestSchemaOfManifest checks the schema of Concerto.toml: it accepts all manifests of examples,
// recipes and templates, rejects what the compiler rejects, describes each key, and is contributed
// to editors of TOML.
func TestSchemaOfManifest(t *testing.T) {
	text, err := os.ReadFile("vscode/schemas/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	s, problems := jsonschema.Compile(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	check := func(name, text string) []jsonschema.Problem {
		var v map[string]any
		if err := toml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var values any
		d := json.NewDecoder(bytes.NewReader(encoded))
		d.UseNumber()
		if err := d.Decode(&values); err != nil {
			t.Fatal(err)
		}
		return s.Check(values)
	}
	files := 0
	for _, pattern := range []string{"../examples/*/Concerto.toml", "../docs/cookbook/*/Concerto.toml", "../internal/cli/project/templates/*/Concerto.toml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "{{") {
				continue // a template
			}
			files++
			for _, p := range check(file, string(text)) {
				t.Errorf("%s: %v", file, p)
			}
		}
	}
	if files < 25 {
		t.Errorf("%d manifests were checked", files)
	}
	for _, wrong := range []string{"[project]\nnmae = \"x\"", "[conections.a]\nprovider = \"openai\"", "[connections.a]\nprovider = \"opanai\"", "[hosts.a]\ntimeout = \"long\"", "[limits]\nmax_tokens = -1"} {
		if len(check(wrong, wrong)) == 0 {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
	for _, k := range manifest.Keys() {
		if quoted, err := json.Marshal(k.Name()); err != nil || !strings.Contains(string(text), string(quoted)) && k.Name() != "*" {
			t.Errorf("the schema lacks %s", k.Path)
		}
	}
	var extension struct {
		Contributes struct {
			TomlValidation []struct{ FileMatch, URL string }
		}
	}
	description, err := os.ReadFile("vscode/package.json")
	if err == nil {
		err = json.Unmarshal(description, &extension)
	}
	if all := extension.Contributes.TomlValidation; err != nil || len(all) != 1 || all[0].FileMatch != "Concerto.toml" || !strings.HasSuffix(all[0].URL, "/editors/vscode/schemas/manifest.json") {
		t.Errorf("the extension contributes the schemas %v (error %v)", all, err)
	}
}
