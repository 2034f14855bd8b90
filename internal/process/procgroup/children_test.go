//go:build unix

package procgroup

import (
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// entries returns the number of entries in a directory of /proc, or 0 without /proc.
func entries(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(all)
}

// TestManyChildren checks that a child process needs at most three descriptors and no thread. No
// goroutine and no descriptor may remain after all children have exited, whether one by one or all
// at once.
func TestManyChildren(t *testing.T) {
	const many = 40
	p := start(t, "echo", Command{}) // after the initialisation
	p.Stdin.Close()
	if _, err := io.Copy(io.Discard, p.Stdout); err != nil {
		t.Fatal(err)
	}
	<-p.GroupDone()
	files, threads, routines := entries(t, "/proc/self/fd"), entries(t, "/proc/self/task"), runtime.NumGoroutine()
	var all []*Process
	for range many {
		all = append(all, start(t, "echo", Command{}))
	}
	if got := entries(t, "/proc/self/fd") - files; got > 3*many {
		t.Errorf("%d child processes need %d descriptors, want at most 3 each", many, got)
	}
	if got := entries(t, "/proc/self/task") - threads; got > many/4 {
		t.Errorf("%d child processes need %d threads, want almost none", many, got)
	}
	for i, p := range all {
		if i < many/2 {
			p.Stdin.Close()
			if e := p.Exit(); e.Code != 3 {
				t.Errorf("exit code of child %d = %d, want 3", i, e.Code)
			}
			continue
		}
		p.Kill()
	}
	for i, p := range all {
		<-p.GroupDone()
		if e := p.Exit(); i >= many/2 && e.Code != 137 {
			t.Errorf("exit code of child %d = %d, want 137", i, e.Code)
		}
		p.Stdin.Close()
		if _, err := io.Copy(io.Discard, p.Stdout); err != nil {
			t.Error(err)
		}
	}
	// The goroutine that waits for the children exits after it has reported the last exit.
	for until := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > routines && time.Now().Before(until); {
		runtime.Gosched()
	}
	if got := runtime.NumGoroutine(); got > routines {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		t.Errorf("%d goroutines, want at most %d as before the test:\n%s", got, routines, strings.Join(strings.SplitAfterN(string(stacks), "\n\n", 12), ""))
	}
	if got := entries(t, "/proc/self/fd"); got > files {
		t.Errorf("%d descriptors, want at most %d as before the test", got, files)
	}
}
