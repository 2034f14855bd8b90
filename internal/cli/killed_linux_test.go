package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/proc"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// outlive is the maximum time to wait for processes to exit. On an idle machine they exit within
// milliseconds.
const outlive = 2 * time.Minute

// family starts a host that starts four others (family4).
const family = `
spawn-grandchild child
spawn-grandchild grouped own-group ignore-sigterm
spawn-grandchild session own-session ignore-sigterm
spawn-grandchild orphaned own-session
`

// TestKilled kills concerto during a run. It checks that no process of the run remains: no host, no
// descendant of a host in any process group or session, and no guardian.
func TestKilled(t *testing.T) {
	for _, c := range []struct{ name, host, program string }{
		{"idle", family + "serve\nread\n< {\"type\":\"result\",\"text\":\"up\"}\nend\n",
			`fn main() { println(W.execute("a")?); std::time::sleep(600000); }`},
		{"in an exchange", family + "read\n< {\"type\":\"progress\",\"message\":\"up\"}\nhang\n",
			`fn main() { println(W.execute("a").is_ok()); }`},
		{"deaf to SIGTERM", "ignore-sigterm\n" + family + "close-stdin\n< {\"type\":\"progress\",\"message\":\"up\"}\nhang\n",
			`fn main() { println(W.execute("a").is_ok()); }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := programs(t, map[string]string{
				"Concerto.toml": "[hosts.w]\ncommand = \"testhost\"\nargs = [\"w.host\"]\noutput_format = \"json\"\n",
				"w.host":        c.host, "main.conc": "host W { connector: w }\n" + c.program,
			})
			p := command(dir, "run", "--emit", "ndjson", "main.conc")
			out, err := p.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Wait() }()
			defer func() { _ = p.Process.Kill() }()
			for lines := bufio.NewScanner(out); ; {
				if !lines.Scan() {
					t.Fatal("the run exited before its host printed a message")
				}
				if strings.Contains(lines.Text(), "up") {
					break
				}
			}
			all := family4(t, dir)
			run := markOf(t, all[0])
			guardian := childCalled(p.Process.Pid, "guard")
			if guardian == 0 {
				t.Fatal("the run has no guardian process")
			}
			all = append(all, guardian)
			_ = p.Process.Kill()
			killed := time.Now()
			for ; len(all) > 0; all = marked(run) {
				if left, err := testproc.AwaitExit(outlive-time.Since(killed), all...); len(left) > 0 || err != nil {
					t.Fatalf("processes %v still run (error %v)", left, err)
				}
			}
			t.Logf("all processes had exited after %v", time.Since(killed).Round(time.Millisecond))
		})
	}
}

// TestNothingIsLeft checks that no process that the hosts started remains after a run, whatever its
// process group or session is.
func TestNothingIsLeft(t *testing.T) {
	dir := programs(t, map[string]string{
		"Concerto.toml": "[hosts.w]\ncommand = \"testhost\"\nargs = [\"w.host\"]\noutput_format = \"json\"\n",
		"w.host":        family + "read\n< {\"type\":\"result\",\"text\":\"up\"}\n",
		"main.conc":     "host W { connector: w }\nfn main() { println(W.execute(\"a\")?); }",
	})
	out, err := command(dir, "run", "main.conc").Output()
	if err != nil || string(out) != "up\n" {
		t.Fatalf("concerto run: error %v, output: %s", err, out)
	}
	if left := alive(family4(t, dir)); len(left) != 0 {
		t.Errorf("processes %v still run", left)
	}
}

// TestNothingIsLeftOfHostList checks that `host list`, which only starts the hosts for their
// acknowledgement, leaves no process running.
func TestNothingIsLeftOfHostList(t *testing.T) {
	dir := programs(t, map[string]string{
		"Concerto.toml": "[hosts.w]\ncommand = \"testhost\"\nargs = [\"w.host\"]\nparams = { a = 1 }\n",
		"w.host":        family + "read\n< {\"type\":\"init_ack\"}\n",
		"main.conc":     "host W { connector: w }\nfn main() {}",
	})
	if out, err := command(dir, "host", "list").Output(); err != nil {
		t.Fatalf("concerto host list: %v: %s", err, out)
	}
	if left := alive(family4(t, dir)); len(left) != 0 {
		t.Errorf("processes %v still run", left)
	}
}

// family4 returns the ids of a host's process and of the four processes that the host has started.
func family4(t *testing.T, dir string) []int {
	t.Helper()
	var all []int
	for _, name := range []string{"w.host.spawns", "child", "grouped", "session", "orphaned"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.Fields(string(text))[0])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// alive returns the processes that have not exited.
func alive(pids []int) (out []int) {
	for _, pid := range pids {
		if s := proc.Read(pid); s != nil && s.CanRun() {
			out = append(out, pid)
		}
	}
	return out
}

// markOf returns the id of the run that a process belongs to.
func markOf(t *testing.T, pid int) string {
	t.Helper()
	for v := range strings.SplitSeq(string(proc.Environ(pid)), "\x00") {
		if mark, ok := strings.CutPrefix(v, proc.Mark+"="); ok {
			run, _, _ := strings.Cut(mark, ":")
			return run
		}
	}
	t.Fatalf("the environment of process %d contains no run id", pid)
	return ""
}

// marked returns the processes that belong to a run.
func marked(run string) (out []int) {
	for pid := range proc.All {
		if proc.Marked(proc.Environ(pid), run) {
			out = append(out, pid)
		}
	}
	return out
}

// childCalled returns the id of parent's child process that has word among its arguments, or 0 if
// there is none.
func childCalled(parent int, word string) int {
	for pid := range proc.All {
		s := proc.Read(pid)
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if s != nil && s.Parent == parent && strings.Contains(string(line), "\x00"+word) {
			return pid
		}
	}
	return 0
}
