//go:build unix

package testhost

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP,
}

func groupOf() int { return syscall.Getpgrp() }

func killSelf(name string) error {
	s, ok := signals[strings.TrimSpace(name)]
	if !ok {
		return fmt.Errorf("unknown signal %q", name)
	}
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		return err
	}
	select {}
}

func stopSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

func noteTerm(file string) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGTERM)
	go func() {
		for range c {
			if err := appendFile(file, "SIGTERM\n"); err != nil {
				fmt.Fprintln(os.Stderr, "testhost:", err)
			}
		}
	}()
}

// spawnGrandchild starts a copy of this process that holds the pipes open. It returns when the copy
// is ready.
func spawnGrandchild(file, flags string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	c := exec.Command(os.Args[0], os.Args[1:]...)
	c.Env = append(os.Environ(), grandchildEnv+"= "+flags)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.ExtraFiles = []*os.File{w}
	switch {
	case strings.Contains(flags, "own-group"):
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	case strings.Contains(flags, "own-session"):
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if strings.Contains(flags, "own-session") {
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	err = c.Start()
	w.Close()
	if err != nil {
		r.Close()
		return err
	}
	r.Read(make([]byte, 1)) // the copy writes one byte when it is ready
	r.Close()
	tmp := file + ".part"
	if err := os.WriteFile(tmp, fmt.Appendf(nil, "%d\n", c.Process.Pid), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}

// grandchild is the main function of the copy. It returns the exit code.
func grandchild(kind string) int {
	if strings.Contains(kind, "ignore-sigterm") {
		signal.Ignore(syscall.SIGTERM)
	} else {
		signal.Reset(syscall.SIGTERM)
	}
	up := os.NewFile(3, "up")
	up.Write([]byte{'u'})
	up.Close()
	select {}
}
