package engine

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
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
