package sdk_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a command in dir and returns its standard output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// builder returns a Python that can build a wheel without a network, or skips the test. Debian's
// packages python3-pip, python3-venv, python3-setuptools and python3-wheel suffice.
func builder(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import ensurepip, pip, setuptools, venv, wheel").Run() == nil {
			return name
		}
	}
	t.Skip("no python3 has pip, venv, setuptools and wheel")
	return ""
}

// TestWheel builds the wheel of the Python SDKs, installs it in a new environment, and checks there
// that both modules are importable and typed, and that `python -m concerto tool` runs a function.
func TestWheel(t *testing.T) {
	t.Parallel()
	python, dir := builder(t), t.TempDir()
	source, wheels, env := filepath.Join(dir, "source"), filepath.Join(dir, "wheels"), filepath.Join(dir, "env")
	if err := os.CopyFS(source, os.DirFS("python")); err != nil { // setuptools writes next to its input
		t.Fatal(err)
	}
	run(t, dir, python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet", "-w", wheels, source)
	built, err := filepath.Glob(filepath.Join(wheels, "concerto_lang-*-py3-none-any.whl"))
	if err != nil || len(built) != 1 {
		t.Fatalf("wheels = %q, %v", built, err)
	}
	run(t, dir, python, "-m", "venv", env)
	own := filepath.Join(env, "bin", "python")
	run(t, dir, own, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", built[0])
	const check = `
import concerto, concerto_host, importlib.metadata, importlib.resources, sys
for m in concerto, concerto_host:
    assert m.__file__.startswith(sys.prefix), m.__file__
    assert importlib.resources.files(m).joinpath("py.typed").is_file(), m
    for name in m.__all__:
        getattr(m, name)
d = importlib.metadata.distribution("concerto-lang")
assert d.version == concerto.__version__, d.version
assert not d.requires, d.requires
`
	run(t, dir, own, "-I", "-c", check)
	handlers, err := filepath.Abs("testdata/handlers")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(own, "-m", "concerto", "tool", "myapp.database:plain")
	c.Dir, c.Stdin = handlers, strings.NewReader(`{"input":{"sql":"é"},"context":{}}`)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := c.Output(); err != nil || strings.TrimSpace(string(out)) != `{"success":true,"output":["é",null]}` {
		t.Errorf("python -m concerto tool = %s, %v", out, err)
	}
}

// TestPythonTypes checks the types of the Python SDKs with Pyright, and that everything which they
// export has one.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	pyright, err := filepath.Abs("../bin/npm/node_modules/.bin/pyright")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(pyright); err != nil {
		t.Skip("Pyright is not installed: run `make sdk`")
	}
	run(t, "python", pyright, "-p", ".")
	for _, module := range []string{"concerto", "concerto_host"} {
		run(t, "python", "env", "PYTHONPATH=.", pyright, "--ignoreexternal", "--verifytypes", module)
	}
}
