package stdlib

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// TestMessageTablesMatchManual compares the generated tables in the manual with the code.
func TestMessageTablesMatchManual(t *testing.T) {
	for _, p := range Parts() {
		chapter, err := os.ReadFile(filepath.Join("../spec", p.Chapter))
		if err != nil {
			t.Fatal(err)
		}
		text, ok := p.In(string(chapter))
		if !ok {
			t.Fatalf("%s has no marker lines for the %s", p.Chapter, p.Name)
		}
		if text != string(chapter) {
			t.Errorf("the %s in %s are out of date: run `make gen`", p.Name, p.Chapter)
		}
	}
}

// TestExecuteHandles checks that the loop of execute has a handler for exactly those messages for
// which the table lists an emit.
func TestExecuteHandles(t *testing.T) {
	want := map[string]string{}
	for _, m := range hostmsg.Messages() {
		if m.Channel != "" {
			want[m.Type] = m.Channel
		}
	}
	got := map[string]string{}
	for _, h := range executeLoop(t).Handlers {
		got[h.Type.Value] = want[h.Type.Value]
	}
	if _, checks := got[hostmsg.Result]; !checks {
		t.Error("__run in host.conc does not check results")
	}
	delete(got, hostmsg.Result)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handlers of __run in host.conc (-table of messages +handlers):\n%s", diff)
	}
}

func executeLoop(t *testing.T) *ast.ListenExpr {
	t.Helper()
	for _, d := range tree(t, "host.conc").Decls {
		impl, ok := d.(*ast.ImplDecl)
		if !ok {
			continue
		}
		for _, m := range impl.Methods {
			if m.Name.Name != "__run" {
				continue
			}
			if l, ok := m.Body.Tail.(*ast.ListenExpr); ok {
				return l
			}
		}
	}
	t.Fatal("host.conc has no __run that ends with a listen")
	return nil
}
