//go:build unix

package holder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Launch starts a holder in a new session, so that the holder outlives this process and its
// terminal. The holder reads spec from its standard input. Launch decodes the first line of the
// holder's standard output into ready, or returns an error if the holder does not accept
// connections. The error wraps ErrKilled if a signal killed the holder before that. The holder's
// standard error is appended to the file log.
func Launch(cmd *exec.Cmd, log string, spec, ready any) error {
	logged, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logged.Close()
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	output, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer output.Close()
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(text, '\n')), w, logged
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }() // reaps the holder if it exits before this process; its log contains later errors
	err = json.NewDecoder(output).Decode(ready)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		how := <-exited
		var exit *exec.ExitError
		if errors.As(how, &exit) && !exit.Exited() {
			return fmt.Errorf("%w: %w", ErrKilled, how)
		}
		err = errors.Join(err, how)
	}
	if err != nil {
		return fmt.Errorf("it exited or sent an invalid message before it was ready: %w", err)
	}
	return nil
}
