package merge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// gate tests commits.
type gate struct {
	m     *Merges
	rules *rules
	file  *database
	check Gate // replaces the commands, if it is not nil

	ran   int             // number of gates that have run
	green map[string]bool // trees that have passed
	event func(GateEvent)
}

// GateEvent is the result of a gate.
type GateEvent struct {
	Queue      string   `json:"queue"`
	Commit     string   `json:"commit"`
	Changes    []string `json:"changes"`
	OK         bool     `json:"ok"`
	DurationMS int64    `json:"duration_ms"`
}

// remembers reports whether results are stored: a function has no identity.
func (g *gate) remembers() bool { return g.check == nil }

// isKnown reports whether a tree is known to pass.
func (g *gate) isKnown(tree string) (bool, error) {
	if g.green[tree] || g.check == nil && len(g.rules.Gate) == 0 {
		return true, nil
	}
	if !g.remembers() {
		return false, nil
	}
	return g.file.hasPassed(tree, g.commands())
}

// commands returns the commands as JSON.
func (g *gate) commands() string {
	text, err := json.Marshal(g.rules.Gate)
	if err != nil {
		panic(err) // they are texts
	}
	return string(text)
}

// test runs the gate for a commit, up to again more times while it fails, unless its tree is known
// to pass. base is the target's commit. The result is nil if the gate passes.
func (g *gate) test(ctx context.Context, r result, base string, ids []string, again int) (*GateFailed, error) {
	known, err := g.isKnown(r.tree)
	if err != nil || known {
		return nil, err
	}
	for {
		g.m.step("gate")
		began := time.Now()
		failed, err := g.run(ctx, r.commit, base, ids)
		if err != nil {
			return nil, err
		}
		if failed != nil && failed.unprepared {
			return failed, nil
		}
		g.ran++
		if g.event != nil {
			g.event(GateEvent{g.rules.name, r.commit, append([]string{}, ids...), failed == nil, time.Since(began).Milliseconds()})
		}
		if failed == nil {
			g.green[r.tree] = true
			if g.remembers() {
				err = g.file.addPassed(r.tree, g.commands())
			}
			return nil, err
		}
		if again--; again < 0 {
			return failed, nil
		}
	}
}

// run runs the gate once. The error is not about the commit.
func (g *gate) run(ctx context.Context, commit, base string, ids []string) (*GateFailed, error) {
	w, err := g.m.o.Store.UseGate(ctx, g.rules.name)
	if err != nil {
		return nil, err
	}
	defer w.Release()
	failed := &GateFailed{Workspace: strings.Join(ids, " "), Into: g.rules.Into}
	tree, err := g.prepare(ctx, w, commit, base, failed)
	if err != nil || failed.unprepared {
		return failed, err
	}
	if g.check != nil {
		err := g.check(ctx, tree)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			return nil, nil
		}
		failed.reason, failed.Output = err.Error(), err.Error()
		return failed, nil
	}
	out, err := g.m.newLog(g.rules, commit)
	if err != nil {
		return nil, workspace.Failure(err, "", "create the log of the gate")
	}
	environ := []string{"CONCERTO_GATE=" + g.rules.name, "CONCERTO_GATE_COMMIT=" + commit, "CONCERTO_GATE_BASE=" + base, "CONCERTO_GATE_CHANGES=" + strings.Join(ids, " ")}
	ok := true
	for _, command := range g.rules.Gate {
		if ok = g.runCommand(ctx, w.Root(), command, environ, out, failed); !ok {
			break
		}
	}
	text, err := out.close()
	switch failed.Output = text; {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, workspace.Failure(err, "", "write the log of the gate")
	case ok:
		return nil, nil
	}
	return failed, nil
}

// prepare makes the gate's worktree contain a commit. If it cannot, that is the failure of the
// commit: the caller tests whether the target fails, too.
func (g *gate) prepare(ctx context.Context, w *workspace.Gate, commit, base string, failed *GateFailed) (*workspace.Workspace, error) {
	tree, err := w.Reset(ctx, commit, base, min(g.rules.timeout, g.m.o.Store.SetupTimeout()))
	if err == nil {
		return tree, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	failed.unprepared = true
	failed.reason, failed.Output = "its files could not be prepared: "+reasonOf(err), err.Error()
	return nil, nil
}

// reasonOf returns the last line that git has printed, or the first one of another error.
func reasonOf(err error) string {
	if known, ok := errors.AsType[*workspace.Error](err); ok && known.Code != workspace.Setup && known.Stderr != nil {
		if text := strings.TrimSpace(*known.Stderr); text != "" {
			return text[strings.LastIndexByte(text, '\n')+1:]
		}
	}
	return firstLine(err.Error())
}

// prepareTarget prepares the worktree for the target itself, and returns its failure or nil.
func (g *gate) prepareTarget(ctx context.Context, old string) (*GateFailed, error) {
	w, err := g.m.o.Store.UseGate(ctx, g.rules.name)
	if err != nil {
		return nil, err
	}
	defer w.Release()
	failed := &GateFailed{Into: g.rules.Into}
	if _, err := g.prepare(ctx, w, old, old, failed); err != nil || !failed.unprepared {
		return nil, err
	}
	return failed, nil
}

// runCommand runs a command of the gate, and reports whether it passes. Otherwise it describes the
// failure.
func (g *gate) runCommand(ctx context.Context, dir string, command, environ []string, out *output, failed *GateFailed) bool {
	what, exit := workspace.RunGate(ctx, g.m.o.Store, dir, command, environ, out, g.rules.timeout)
	if what == "" {
		return true
	}
	failed.Command, failed.ExitCode = command, exit
	failed.reason = strings.Join(command, " ") + " " + what
	return false
}
