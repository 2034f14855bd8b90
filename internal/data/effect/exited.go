package effect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// exitedEarly begins the message of an exchange whose host ended before its result.
const exitedEarly = "host exited without result"

// signalNames are the signals that have the same number on all systems.
var signalNames = [...]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}

// maxLastLine is how much of a host's last line of standard error a message has, in bytes.
const maxLastLine = 200

// HostExited returns the error of an exchange whose host ended before its result, with a status,
// which is 128 plus the number of a signal that ended it. stderr are the last lines of its standard
// error, or "". Its status is unknown, because the host may have done a part of the work.
func HostExited(host string, status int64, stderr string) *Error {
	how := fmt.Sprintf("exited with status %d", status)
	if signal := status - 128; signal >= 0 && signal < int64(len(signalNames)) && signalNames[signal] != "" {
		how = "was ended by " + signalNames[signal]
	}
	e := HostEnded(host, how, stderr).With("exit_code", status)
	if stderr != "" {
		e.With("stderr", stderr)
	}
	return e
}

// HostEnded is HostExited for a host that ended in another way, or "" if that is not known.
func HostEnded(host, how, stderr string) *Error {
	text := exitedEarly
	if how != "" {
		text += ": '" + host + "' " + how
	}
	stderr = strings.TrimSpace(stderr)
	if last := strings.TrimSpace(stderr[strings.LastIndexByte(stderr, '\n')+1:]); last != "" {
		text += ": " + utf8cut.Short(last, maxLastLine)
	}
	e := Errorf("HostError", "%s", text).With("host", host)
	e.Status = Unknown
	return e
}

// Seconds formats a number of seconds for a message: "1 second", "0.5 seconds".
func Seconds(s float64) string {
	if s == 1 {
		return "1 second"
	}
	return strconv.FormatFloat(s, 'f', -1, 64) + " seconds"
}
