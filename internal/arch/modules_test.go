package arch

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// toolsFolder is the folder of a separate module. It contains the generators and tests that need
// modules which the product does not need.
const toolsFolder = "tools"

// maxRequirements is the maximum number of third-party modules that the product and its tests
// import. The last one is tailscale/hujson, which reads the settings of agents with the positions
// of their values, so that the guard changes nothing else in them; it requires no other module.
const maxRequirements = 24

// requirements returns the versions of the modules in a go.mod, and the number of modules that it
// requires directly.
func requirements(t *testing.T, dir string) (versions map[string]string, direct int) {
	t.Helper()
	edit := exec.Command("go", "mod", "edit", "-json")
	edit.Dir = filepath.Join("..", "..", dir)
	edit.Env = append(os.Environ(), "GOWORK=off")
	out, err := edit.Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	versions = map[string]string{}
	for _, r := range file.Require {
		versions[r.Path] = r.Version
		if !r.Indirect {
			direct++
		}
	}
	return versions, direct
}

// TestRequirements limits the number of modules that go.mod requires directly. It also compares the
// versions with those in tools/go.mod. A workspace uses the higher version for both modules, so
// with different versions the tests would not test a user's build.
func TestRequirements(t *testing.T) {
	randtest.InOneGoroutine(t)
	product, direct := requirements(t, ".")
	if direct > maxRequirements {
		t.Errorf("go.mod requires %d modules directly; the limit is %d. Modules that only generators or tests need may move to %s", direct, maxRequirements, toolsFolder)
	}
	tools, _ := requirements(t, toolsFolder)
	for module, version := range product {
		if other, both := tools[module]; both && other != version {
			t.Errorf("go.mod requires %s %s, and %s/go.mod %s", module, version, toolsFolder, other)
		}
	}
}

// TestNothingNeedsTools checks that no package outside of tools imports a package of tools. This
// includes tests, because the product must build and pass its tests without the workspace.
func TestNothingNeedsTools(t *testing.T) {
	randtest.InOneGoroutine(t)
	within := 0
	for name, source := range goFiles(t) {
		if strings.HasPrefix(name, toolsFolder+"/") {
			within++
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range imported(f) {
			if strings.HasPrefix(p, Module+"/"+toolsFolder+"/") {
				t.Errorf("%s imports %s, which belongs to the module tools", name, p)
			}
		}
	}
	if within == 0 {
		t.Errorf("%s has no Go files", toolsFolder)
	}
}
