package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// TestProgress runs first checks of different durations. The server shows progress for a long first
// check, but not for a short one or for later checks.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		takes    time.Duration
		can      bool
		reported int
	}{{299 * time.Millisecond, true, 0}, {time.Second, true, 2}, {time.Second, false, 0}} {
		runInBubble(t, Options{diagnose: func(context.Context, *analysis.Snapshot) (map[string][]*diag.Diagnostic, error) {
			time.Sleep(c.takes)
			return nil, nil
		}}, func(e *editor) {
			e.start(t.TempDir(), map[string]any{"window": map[string]any{"workDoneProgress": c.can}})
			time.Sleep(2 * time.Second)
			e.open("untitled:a", good)
			time.Sleep(2 * time.Second)
			if n := e.countReceived(protocol.MethodProgress); n != c.reported {
				t.Errorf("number of progress notifications for a check of %v = %d", c.takes, n)
			}
			if n := e.countReceived(protocol.MethodWindowWorkDoneProgressCreate); n != c.reported/2 {
				t.Errorf("number of progress tokens for a check of %v = %d", c.takes, n)
			}
		})
	}
}

// TestSlowChecks simulates a user who types while checks take longer than the pauses. The server
// still publishes results from time to time.
func TestSlowChecks(t *testing.T) {
	runInBubble(t, Options{diagnose: func(ctx context.Context, s *analysis.Snapshot) (map[string][]*diag.Diagnostic, error) {
		select {
		case <-time.After(150 * time.Millisecond):
			return s.Diagnostics(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}, func(e *editor) {
		dir := t.TempDir()
		e.start(dir, struct{}{})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, bad)
		var versions []int32
		for i := range 40 {
			e.edit(uri, 2+i, bad+strings.Repeat("\n", i))
			time.Sleep(50 * time.Millisecond)
			for _, p := range e.published(uri) {
				versions = append(versions, *p.Version)
			}
		}
		time.Sleep(time.Second)
		for _, p := range e.published(uri) {
			versions = append(versions, *p.Version)
		}
		if len(versions) < 3 || !slices.IsSorted(versions) || versions[len(versions)-1] != 41 {
			t.Errorf("versions published in 2 s of typing = %v", versions)
		}
	})
}

// TestCheckCrash makes a check panic. The open documents show the crash as a diagnostic, and the
// next check publishes its results.
func TestCheckCrash(t *testing.T) {
	crash := true
	runInBubble(t, Options{diagnose: func(ctx context.Context, s *analysis.Snapshot) (map[string][]*diag.Diagnostic, error) {
		if crash {
			panic("oh")
		}
		return s.Diagnostics(ctx)
	}}, func(e *editor) {
		dir := t.TempDir()
		e.start(dir, struct{}{})
		uri := fileURI(filepath.Join(dir, "a.conc"))
		e.open(uri, bad)
		time.Sleep(time.Second)
		got := e.published(uri)
		if len(got) != 1 || len(got[0].Diagnostics) != 1 || got[0].Diagnostics[0].Severity != protocol.DiagnosticSeverityInformation || got[0].Diagnostics[0].Range.Start.Line != 0 {
			t.Errorf("diagnostics: %+v", got)
		}
		crash = false
		e.edit(uri, 2, bad+"\n")
		time.Sleep(time.Second)
		if got := e.published(uri); len(got) != 1 || got[0].Diagnostics[0].Code != "E0201" {
			t.Errorf("diagnostics after the second check: %+v", got)
		}
	})
}
