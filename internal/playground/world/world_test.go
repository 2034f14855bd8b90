package world

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// play runs the program main.conc of the given files, and returns its exit code and its outputs.
func play(t *testing.T, files map[string]string, set func(*Options)) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	o := Options{Dir: dir, Path: "main.conc", Mode: emit.Text, Out: &out, Err: &errs,
		OnEmit: func(string, json.RawMessage) {}, Notice: func(string) {}, Trace: func(Line) {}}
	if set != nil {
		set(&o)
	}
	code = Run(t.Context(), o)
	return code, out.String(), errs.String()
}

func TestHello(t *testing.T) {
	code, out, errs := play(t, map[string]string{"main.conc": `fn main() { println("hello"); emit("greeting", "hi"); }`}, nil)
	if code != 0 || !strings.Contains(out, "hello\n") || errs != "" {
		t.Errorf("exit code = %d, stdout = %q, stderr = %q", code, out, errs)
	}
}

func TestScriptPlaysHost(t *testing.T) {
	code, out, errs := play(t, map[string]string{
		"main.conc":     "host Coder { connector: coder }\n\nfn main() {\n    println(Coder.execute(\"tidy up\")?);\n}\n",
		"Concerto.toml": "[hosts.coder]\ncommand = \"./coder\"\noutput_format = \"json\"\n",
		"coder.host":    "> {\"type\":\"prompt\",\"text\":\"tidy up\"}\n< {\"type\":\"partial\",\"text\":\"tidied \"}\n< {\"type\":\"partial\",\"text\":\"up\"}\n< {\"type\":\"result\"}\n",
	}, nil)
	if code != 0 || out != "tidied up\n" || errs != "" {
		t.Errorf("exit code = %d, stdout = %q, stderr = %q", code, out, errs)
	}
}
