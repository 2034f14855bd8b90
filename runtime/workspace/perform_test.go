package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestRepeatedEffects performs effects again that an earlier process has begun and may have ended.
func TestRepeatedEffects(t *testing.T) {
	s := newStore(t)
	p := &Performer{Store: s}
	again := effect.WithRetry(t.Context())
	do := func(ctx context.Context, q effect.Request) effect.Result {
		t.Helper()
		r, err := p.Perform(ctx, q)
		must(t, err)
		return r
	}
	first := *do(t.Context(), &effect.WorkOpen{Name: "fix"}).(*effect.WorkspaceInfo)
	if got := *do(again, &effect.WorkOpen{Name: "fix"}).(*effect.WorkspaceInfo); got != first || got.Repo != s.place.From {
		t.Errorf("opened %+v, then %+v", first, got)
	}
	write(t, filepath.Join(first.Dir, "new"), "new\n")
	commit := &effect.WorkCommit{Name: "fix", Message: "work", Time: 1e12}
	made := do(t.Context(), commit).(*effect.WorkCommitted).Commit
	if got := do(again, commit).(*effect.WorkCommitted).Commit; got != made || made == "" {
		t.Errorf("committed %q, then %q", made, got)
	}
	if got := do(t.Context(), commit).(*effect.WorkCommitted).Commit; got != "" {
		t.Errorf("a new effect committed %q, want nothing", got)
	}
	remove := &effect.WorkRemove{Name: "fix", Force: true}
	do(t.Context(), remove)
	do(again, remove)
	if _, err := p.Perform(t.Context(), remove); programCode(err) != "missing" {
		t.Errorf("removed twice: %v", err)
	}
}

// TestRefusedEffects checks errors that are not errors of git.
func TestRefusedEffects(t *testing.T) {
	s := newStore(t)
	s.OnRemove(func(_ context.Context, name string) (string, error) { return "Coder", nil })
	p := &Performer{Store: s}
	w := opened(t, s, "fix")
	_, err := p.Perform(t.Context(), &effect.WorkRemove{Name: "fix", Force: true})
	if programCode(err) != "busy" || err.Error() != "the host Coder works in the workspace fix" {
		t.Errorf("remove: %v", err)
	}
	if err := s.RemoveContained(t.Context(), "fix"); err != nil { // after a merge, it remains
		t.Error(err)
	}
	if _, err := s.Find(t.Context(), "fix"); err != nil {
		t.Errorf("after RemoveContained: %v", err)
	}
	_, err = p.Perform(t.Context(), &effect.WorkRun{Name: "fix", Command: []string{"sh", "-c", "echo begun; sleep 60"}, Timeout: 300})
	failed, ok := errors.AsType[*effect.Error](err)
	if !ok || failed.Message != "sh -c echo begun; sleep 60 in the workspace fix did not end within 0.3 s" || len(failed.Fields["command"].([]string)) != 3 {
		t.Errorf("run: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := p.Perform(ctx, &effect.WorkRun{Name: w.Name, Command: []string{"true"}, Timeout: 1000}); !errors.Is(err, stopped) {
		t.Errorf("run after the end: %v", err)
	}
	if _, err := p.Perform(t.Context(), &effect.Print{}); err == nil || programCode(err) != "" {
		t.Errorf("print: %v", err)
	}
}

func programCode(err error) string {
	if failed, ok := errors.AsType[*effect.Error](err); ok {
		return failed.Fields["code"].(string)
	}
	return ""
}
