//go:build unix

package keeper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Supported says that there can be a keeper here.
const Supported = true

// launch starts the keeper's process, and returns when it can be reached. It is in a session of its
// own, and has no more of our environment than it needs.
func launch(o *Options, c config) error {
	log, err := os.OpenFile(filepath.Join(o.Dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	said, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := &exec.Cmd{Path: o.Executable, Args: append([]string{"concerto"}, o.Args...), Dir: "/", Env: append([]string{"GOMAXPROCS=2"}, o.Env...),
		Stdin: bytes.NewReader(append(text, '\n')), Stdout: w, Stderr: log, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it is our child as long as we live; what it has to say is in its log
	var r ready
	if err := json.NewDecoder(said).Decode(&r); err != nil {
		return fmt.Errorf("it said nothing: %w", err)
	}
	switch {
	case r.Held:
		return errHeld
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

// writeNow writes what a descriptor takes without waiting, and gives how much that is.
func writeNow(fd uintptr, b []byte) int {
	for {
		n, err := syscall.Write(int(fd), b)
		if err != syscall.EINTR {
			return max(n, 0)
		}
	}
}
