package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

// TestModules compares the modules that the program prints with those in its file.
func TestModules(t *testing.T) {
	path, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "version", "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var printed struct {
		Go      string
		Modules []struct{ Path, Version, Sum string }
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if printed.Go != info.GoVersion || len(printed.Modules) != len(info.Deps) || len(info.Deps) < 10 {
		t.Fatalf("%s with %d modules, want %s with %d", printed.Go, len(printed.Modules), info.GoVersion, len(info.Deps))
	}
	for i, m := range printed.Modules {
		want := info.Deps[i]
		if want.Replace != nil {
			want = want.Replace
		}
		if m.Path != want.Path || m.Version != want.Version || m.Sum != want.Sum {
			t.Errorf("module %d = %+v, want %+v", i, m, want)
		}
	}
}
