package engine

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// TestGuardIsStopped checks that the end of its time stops a function at its place, and that only a
// request of a service counts as waiting.
func TestGuardIsStopped(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `use std::{decide, time};
@guard fn review(a: HostApproval) -> decide::Decision {
    if a.description == "waits" { time::sleep(60000); }
    let mut n = 0;
    while a.description == "loops" { n += 1; }
    decide::ask("${n}")
}
fn main() {}`})
	if g := GuardOf(p); g == nil || g.Name != "review" || g.Line != 2 || g.File != filepath.Join(p.root, "main.conc") {
		t.Errorf("%+v", g)
	}
	for description, want := range map[string]struct {
		line  int
		waits bool
	}{"loops": {5, false}, "waits": {3, true}, "ends": {}} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		waits := false
		got, err := CallGuard(ctx, p, Options{}, []byte(`{"description":"`+description+`"}`), func() { waits = true })
		cancel()
		if waits != want.waits {
			t.Errorf("%s: waits is %t", description, waits)
		}
		if want.line == 0 {
			if err != nil || string(got) != `{"decision":"ask","reason":"0"}` {
				t.Errorf("%s: %s, error %v", description, got, err)
			}
			continue
		}
		if e, ok := errors.AsType[*GuardError](err); !ok || e.Line != want.line || e.File != filepath.Join(p.root, "main.conc") {
			t.Errorf("%s: %s, error %v", description, got, err)
		}
	}
	if _, err := CallGuard(context.Background(), p, Options{}, []byte(`{}`), func() {}); err == nil || err.Error() != "could not read the call: description: missing, expected String" {
		t.Errorf("without a description: %v", err)
	}
	none := compile(t, map[string]string{"main.conc": "fn main() {}"})
	if _, err := CallGuard(context.Background(), none, Options{}, []byte(`{}`), func() {}); err == nil || err.Error() != "no function has the decorator `@guard`" {
		t.Errorf("without a function: %v", err)
	}
}

// TestGuardSharesAudit checks that calls wait for the audit log of the project, which has one
// writer.
func TestGuardSharesAudit(t *testing.T) {
	p := compile(t, map[string]string{"Concerto.toml": "[audit]\nfile = \"audit.ndjson\"\n", "main.conc": `use std::decide;
@guard fn review(_a: HostApproval) -> decide::Decision { decide::pass() }
fn main() {}`})
	log, err := audit.Open(filepath.Join(p.root, "audit.ndjson"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := CallGuard(ctx, p, Options{}, []byte(`{"description":""}`), func() {}); err == nil || !strings.Contains(err.Error(), "is being written by") {
		t.Errorf("while the log is open: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { log.Close() })
	if got, err := CallGuard(context.Background(), p, Options{}, []byte(`{"description":""}`), func() {}); err != nil || string(got) != `{"decision":"pass"}` {
		t.Errorf("%s, error %v", got, err)
	}
}
