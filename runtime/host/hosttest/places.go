package hosttest

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/host"
)

// placesScript is the script of Places for a host that uses the host protocol.
const placesScript = `
>= {"type":"prompt","text":"please work"}
< {"type":"approval","id":"a","tool":"Bash","description":"Bash: ls"}
> {"type":"response","in_reply_to":"approval","answer_to":"a","value":"yes"}
< {"type":"result","text":"done"}
`

// Places runs exchanges with each peer, with every value of isolate and with one and two instances.
// A peer receives the prompt "please work". It may request an approval, which is granted, and ask a
// question, which is answered with "tabs". Every transport must have a peer.
func Places(t *testing.T, peers map[string]Peer) {
	t.Cleanup(func() { checkGoroutines(t) })
	missing := host.Transports()
	for name, peer := range peers {
		transport := cmp.Or(peer(t, "").Transport, "stdio")
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == transport })
		for _, isolate := range []string{"", "none", "copy", "worktree"} {
			for _, instances := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, cmp.Or(isolate, "default"), instances), func(t *testing.T) {
					t.Parallel()
					newWorld(t, peer).place(isolate, instances)
				})
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("no peer uses the transports %v", missing)
	}
}

// place opens as many exchanges as there are instances and plays each to its end. If the host is
// isolated, place then opens one more exchange, because each exchange needs a new process.
func (w *world) place(isolate string, instances int) {
	c := w.worker(placesScript)
	c.Dir, c.Root, c.Isolate, c.Instances = w.repository(), w.dir, isolate, instances
	w.start(c)
	isolated := isolate == "copy" || isolate == "worktree"
	var open []*talk
	for range instances {
		open = append(open, w.open("please work"))
	}
	seen := map[string]bool{}
	for _, x := range open {
		seen[x.workDir()] = true
		x.close()
	}
	if isolated {
		x := w.open("please work")
		seen[x.workDir()] = true
		x.close()
	}
	w.end()
	switch {
	case !isolated && (len(seen) != 1 || !seen[""]):
		w.Errorf("work_dir of results = %v, want none", seen)
	case isolated && len(seen) != instances+1:
		w.Errorf("work_dir of results = %v, want %d directories", seen, instances+1)
	}
	for dir := range seen {
		if dir != "" && filepath.Dir(dir) != filepath.Join(w.dir, ".concerto", "tasks") {
			w.Errorf("an exchange worked in %s, which is no separate directory", dir)
		}
	}
	left, err := filepath.Glob(w.file(".concerto/tasks/[^.]*"))
	if err != nil || len(left) > 0 {
		w.Errorf("unchanged directories were not removed: %v (error %v)", left, err)
	}
}

// workDir plays an exchange to its end and returns the member work_dir of its result.
func (x *talk) workDir() string {
	x.w.Helper()
	for {
		m, err := x.next()
		if err != nil {
			x.w.Fatalf("the exchange failed: %v", err)
		}
		switch {
		case m.Type == hostmsg.Result:
			dir, isolated := m.Payload.Map().GetString("work_dir")
			if !isolated {
				return ""
			}
			return value.Text(dir)
		case hostmsg.Lookup(m.Type).Terminal():
			x.w.Fatalf("want a result, got %s %s", m.Type, payload(m))
		case hostmsg.Lookup(m.Type).Form == hostmsg.YesNo:
			x.reply(m, `"yes"`)
		case hostmsg.Lookup(m.Type).Form == hostmsg.Inquiry:
			x.reply(m, `"tabs"`)
		}
	}
}

// repository creates a directory that is a git repository with a commit.
func (w *world) repository() string {
	w.Helper()
	dir := w.TempDir()
	for _, args := range []string{"init -q -b main", "commit -q --allow-empty -m first"} {
		git := exec.CommandContext(w.ctx, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, strings.Fields(args)...)...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			w.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	return dir
}
