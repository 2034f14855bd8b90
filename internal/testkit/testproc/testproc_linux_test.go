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
		t.Errorf("processes left = %v (error %v), want %v", left, err, pids)
	}
	in.Close()
	if left, err := AwaitExit(time.Minute, pids[0]); err != nil || len(left) > 0 {
		t.Errorf("processes left = %v (error %v)", left, err)
	}
	other.Close()
	if left, err := AwaitExit(time.Minute, pids...); err != nil || len(left) > 0 {
		t.Errorf("processes left = %v (error %v)", left, err)
	}
	_, _ = first.Wait(), second.Wait()
	if left, err := AwaitExit(time.Minute, pids...); err != nil || len(left) > 0 {
		t.Errorf("processes left after Wait = %v (error %v)", left, err)
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
			t.Fatalf("AwaitFile of a file created later: %v", err)
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
		t.Errorf("AwaitFile of an existing file: %v", err)
	}
	if err := AwaitFile(filepath.Join(dir, "none", "made")); err == nil {
		t.Error("AwaitFile of a file in a missing directory returned no error")
	}
}
