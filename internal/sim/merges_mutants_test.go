package sim

import "testing"

// mergeMutants are faults that the world of a merge queue finds.
var mergeMutants = []mutant{
	{"the target moves without its expected value", "runtime/merge/target.go", `t.rules.ref(), commit, local)`, `t.rules.ref(), commit)`},
	{"the remote's branch is overwritten", "runtime/merge/target.go", `"--force-with-lease="+t.rules.ref()+":"+old, `, `"--force", `},
	{"an interrupted landing is queued again without a look", "runtime/merge/recover.go", "done, err := t.contains(ctx, now, commit)", "done, err := false, error(nil)"},
	{"an interrupted landing counts as merged", "runtime/merge/recover.go", "done, err := t.contains(ctx, now, commit)", "done, err := true, error(nil)"},
	{"the target moves before the landing is recorded", "runtime/merge/land.go", "if err := q.update(changes, func(c *Change) { c.State, c.old, c.new = Landing, b.old, p.commit }); err != nil {\n\t\treturn err\n\t}\n\tif err := b.target.move(ctx, q.m.step, b.old, b.local, p.commit, b.ids(k)); err != nil {",
		"err = b.target.move(ctx, q.m.step, b.old, b.local, p.commit, b.ids(k))\n\tif err := q.update(changes, func(c *Change) { c.State, c.old, c.new = Landing, b.old, p.commit }); err != nil {\n\t\treturn err\n\t}\n\tif err != nil {"},
	{"a landing is recorded as done before the target moves", "runtime/merge/land.go", "c.State, c.old, c.new = Landing, b.old, p.commit }", "c.State, c.Merged = Merged, &p.commit }"},
	{"a gate's result is used for another tree", "runtime/merge/gate.go", "if g.green[tree] || ", "if len(g.green) > 0 || "},
	{"a part of a batch lands without its gate", "runtime/merge/batch.go", "if k > 1 {\n\t\tif err := b.land(ctx, k-1)", "if k > 0 {\n\t\tif err := b.land(ctx, k)"},
	{"a change lands that was dropped or replaced", "runtime/merge/row.go", "if i < 0 || now[i].State != state || now[i].Commit != c.Commit {", "if i < 0 {"},
	{"the database is not synced", "runtime/world/sqlitestore/database.go", "synchronous = FULL", "synchronous = OFF"},
	{"the commits of merges are not synced", "runtime/workspace/merge.go", "g, err := s.git.Synced().Identified", "g, err := s.git.Identified"},
	{"a change's dependency is ignored", "runtime/merge/run.go", "if chosen[id] || i >= 0 && all[i].State == Merged {", "if chosen[id] || i >= 0 {"},
	{"two processes run a queue", "runtime/merge/queue.go", "unlock, err = lockfile.LockAs(path)", "unlock, err = func() {}, nil"},
	{"a merged change remains pinned", "runtime/merge/land.go", "case c.State == Merged && pinned != \"\":", "case false:"},
}

// TestMergeMutants is like TestMutants for the world of a merge queue.
func TestMergeMutants(t *testing.T) {
	plant(t, mergeMutants, "^Test(ReplayMerges|Merges|EveryFaultOfMerges)$", "6000")
}
