package testproc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// startProcess starts a process that exits at the end of its input.
func startProcess(t *testing.T) (*exec.Cmd, io.Closer) {
	t.Helper()
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, in
}

func TestAwaitExit(t *testing.T) {
	first, in := startProcess(t)
	second, other := startProcess(t)
	pids := []int{first.Process.Pid, second.Process.Pid}
	if left, err := AwaitExit(time.Millisecond, pids...); err != nil || !slices.Equal(left, pids) {
		t.Errorf("%v are left (%v), want %v", left, err, pids)
	}
	in.Close()
	if left, err := AwaitExit(time.Minute, pids[0]); err != nil || len(left) > 0 {
		t.Errorf("%v are left (%v)", left, err)
	}
	other.Close()
	if left, err := AwaitExit(time.Minute, pids...); err != nil || len(left) > 0 {
		t.Errorf("%v are left (%v)", left, err)
	}
	_, _ = first.Wait(), second.Wait()
	if left, err := AwaitExit(time.Minute, pids...); err != nil || len(left) > 0 {
		t.Errorf("collected, %v are left (%v)", left, err)
	}
}

func TestAwaitFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "made")
	done := make(chan error, 1)
	go func() { done <- AwaitFile(name) }()
	for _, name := range []string{"another", "made"} {
		select {
		case err := <-done:
			t.Fatalf("before it was made: %v", err)
		default:
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := AwaitFile(name); err != nil {
		t.Errorf("it is there: %v", err)
	}
	if err := AwaitFile(filepath.Join(dir, "none", "made")); err == nil {
		t.Error("a file in no directory has come")
	}
}
