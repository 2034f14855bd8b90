package testproc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// AwaitExit waits until the processes have exited, including all their threads, and returns those
// still running after the timeout. A process id without a process counts as exited.
func AwaitExit(within time.Duration, pids ...int) (left []int, err error) {
	until := time.Now().Add(within)
	for _, pid := range pids {
		ended, err := hasExited(pid, until)
		if err != nil {
			return nil, fmt.Errorf("wait for process %d: %w", pid, err)
		}
		if !ended {
			left = append(left, pid)
		}
	}
	return left, nil
}

func hasExited(pid int, until time.Time) (bool, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(time.Until(until), 0).Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
}

// AwaitFile waits for a file that another process creates.
func AwaitFile(name string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	events := os.NewFile(uintptr(fd), "inotify")
	defer events.Close()
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(name), unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		return fmt.Errorf("watch %s: %w", filepath.Dir(name), err)
	}
	for b := make([]byte, 4096); ; {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		if _, err := events.Read(b); err != nil {
			return fmt.Errorf("wait for %s: %w", name, err)
		}
	}
}
