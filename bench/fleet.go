package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// fleetFiles is the number of files in the repository of the measures for workspaces.
const fleetFiles = 10_000

// repository creates a repository with a project and fleetFiles files.
func (l *lab) repository() (string, error) {
	dir := l.bin("project-fleet")
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		return dir, nil
	}
	if err := writeProject(dir, map[string]string{"Concerto.toml": "[project]\nname = \"fleet\"\nentry = \"main.conc\"\n", "main.conc": "fn main() {}\n", ".gitignore": ".concerto/\n"}); err != nil {
		return "", err
	}
	if err := fillTree(dir, "line"); err != nil {
		return "", err
	}
	_, err := l.process(dir, "sh", "-c", "git init -q -b main . && git add -A && git -c user.name=A -c user.email=a@example.com commit -q -m one")
	return dir, err
}

// fillTree writes fleetFiles files in 100 directories. The last but one line of each is last.
func fillTree(dir, last string) error {
	for i := range fleetFiles {
		path := filepath.Join(dir, fmt.Sprintf("d%d", i%100), fmt.Sprintf("f%d", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "%s%s\n%d\n", strings.Repeat("line\n", 19), last, i), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// opening measures the creation of a workspace, with `git worktree add` in the same directory as
// the peer: elsewhere, the file system may be slower.
func opening() measure {
	run := func(prepare string, command func(*lab) []string) func(*lab) (float64, error) {
		return func(l *lab) (float64, error) {
			dir, err := l.repository()
			if err != nil {
				return 0, err
			}
			if _, err := l.process(dir, "sh", "-c", prepare, l.bin("concerto")); err != nil {
				return 0, err
			}
			p, err := l.process(dir, command(l)...)
			return p.wall, err
		}
	}
	return measure{name: "work-open", title: "open a workspace with 10,000 files, with process start", unit: "ms", target: 1.2, pairs: 11, peers: "`git worktree add`",
		ours: run(`"$0" work list | grep -q "^w " && "$0" work rm --force w; true`, func(l *lab) []string { return []string{l.bin("concerto"), "work", "open", "w"} }),
		peer: run(`git worktree remove --force .concerto/tasks/peer 2>/dev/null; git branch -q -D peer 2>/dev/null; true`, func(*lab) []string {
			return []string{"git", "worktree", "add", "-q", "-b", "peer", ".concerto/tasks/peer"}
		})}
}

// comparing measures the diff of a workspace in which all files have changed, with that of git and
// a temporary index as the peer.
func comparing() measure {
	changed := func(l *lab) (dir string, err error) {
		if dir, err = l.repository(); err != nil {
			return "", err
		}
		p, err := l.process(dir, l.bin("concerto"), "work", "open", "changed")
		if err == nil {
			err = fillTree(p.out, "changed")
		}
		return dir, err
	}
	return measure{name: "work-diff", title: "the diff of a workspace with 10,000 changed files as JSON, with process start", unit: "ms", target: 1.5, pairs: 7, peers: "`git add -A` and `git diff --cached`",
		ours: func(l *lab) (float64, error) {
			dir, err := changed(l)
			if err != nil {
				return 0, err
			}
			return best(3, func() (float64, error) {
				p, err := l.process(dir, l.bin("concerto"), "work", "diff", "changed", "--format", "json")
				return p.wall, err
			})
		},
		peer: func(l *lab) (float64, error) {
			dir, err := changed(l)
			if err != nil {
				return 0, err
			}
			return best(3, func() (float64, error) {
				own := filepath.Join(dir, ".git", "worktrees", "changed", "index")
				if _, err := l.process(dir, "cp", "-p", own, own+".copy"); err != nil {
					return 0, err
				}
				p, err := l.process(filepath.Join(dir, ".concerto", "tasks", "changed"), "env", "GIT_INDEX_FILE="+own+".copy", "sh", "-c", "git add -A && git diff --cached HEAD")
				return p.wall, err
			})
		}}
}

// mergeChanges is the number of changes in the measure of merge queues.
const mergeChanges = 24

// merging measures a merge queue that tests up to 8 changes together, with one that tests each
// alone as the peer. The gate takes one second.
func merging() measure {
	run := func(batch int) func(*lab) (float64, error) {
		return func(l *lab) (float64, error) {
			dir := l.bin(fmt.Sprintf("project-merge-%d", batch))
			if err := os.RemoveAll(dir); err != nil {
				return 0, err
			}
			manifest := fmt.Sprintf("[project]\nname = \"merge\"\nentry = \"main.conc\"\n[merge.main]\nbatch = %d\ngate = [[\"sleep\", \"1\"]]\n", batch)
			if err := writeProject(dir, map[string]string{"Concerto.toml": manifest, "main.conc": "fn main() {}\n"}); err != nil {
				return 0, err
			}
			prepare := `set -e
git init -q -b main .
git config user.name A
git config user.email a@example.com
git add -A
git commit -q -m one
for i in $(seq $1); do
	git checkout -q -b change-$i main
	echo $i > file-$i
	git add -A
	git commit -q -m "Change $i"
	"$0" merge submit main change-$i
done`
			if _, err := l.process(dir, "sh", "-c", prepare, l.bin("concerto"), strconv.Itoa(mergeChanges)); err != nil {
				return 0, err
			}
			p, err := l.process(dir, l.bin("concerto"), "merge", "run", "main")
			return mergeChanges / (p.wall / 1000), err
		}
	}
	return measure{name: "merge-queue", title: fmt.Sprintf("a merge queue of %d changes with a gate of 1 s, 8 tested together", mergeChanges), unit: "changes/s", rate: true, target: 5, pairs: 1,
		ours: run(8), peer: run(1), peers: "`batch = 1`"}
}

// queueTriples is the number of items that the measure of queues adds, claims and completes.
const queueTriples = 4_000

// queueing measures the items that 8 processes add to a queue in a file, claim and complete. Each
// item takes two syncs to disk; the peer is the disk itself, with two writes that are synced.
func queueing() measure {
	project := func(l *lab) (string, error) {
		dir := l.bin("project-queue")
		if err := writeProject(dir, map[string]string{"main.conc": `use std::env;
queue tasks: Queue<Int> = Queue::new().with_persistence("queue.db");
fn main() {
    for i in 0..env::args()[0].parse_int()? {
        tasks.add(i)?;
        if let Some(item) = tasks.claim() { tasks.complete(item)?; }
    }
}
`}); err != nil {
			return "", err
		}
		_, err := l.process(dir, "sh", "-c", "rm -f queue.db* peer")
		return dir, err
	}
	rate := func(command string, args func(*lab) []string) func(*lab) (float64, error) {
		return func(l *lab) (float64, error) {
			dir, err := project(l)
			if err != nil {
				return 0, err
			}
			p, err := l.process(dir, append([]string{"sh", "-c", command}, args(l)...)...)
			return queueTriples / (p.wall / 1000), err
		}
	}
	return measure{name: "task-queue", title: "add, claim and complete a task in a file, 8 processes", unit: "tasks/s", rate: true, fixed: 2000, peers: "two synced writes of 4 KB",
		ours: rate(`for i in 1 2 3 4 5 6 7 8; do "$0" run main.conc -- "$1" & done; wait`, func(l *lab) []string { return []string{l.bin("concerto"), strconv.Itoa(queueTriples / 8)} }),
		peer: rate(`dd if=/dev/zero of=peer bs=4k count="$0" oflag=dsync 2>&1`, func(*lab) []string { return []string{strconv.Itoa(2 * queueTriples)} })}
}
