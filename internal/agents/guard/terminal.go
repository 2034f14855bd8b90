package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// shells are the processes between an agent and its hook.
var shells = []string{"sh", "bash", "dash", "zsh", "ash", "busybox"}

// HasTerminal reports whether the agent that started this process reads from a terminal and is not
// started for one prompt. Where the system does not show that, it returns true: an agent without a
// terminal itself denies a call about which a person must decide.
func HasTerminal() bool {
	for pid, depth := os.Getppid(), 0; pid > 1 && depth < 8; depth++ {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return true
		}
		words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if !slices.Contains(shells, strings.TrimPrefix(filepath.Base(words[0]), "-")) {
			from, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
			if err != nil {
				return true
			}
			return (strings.HasPrefix(from, "/dev/pts/") || strings.HasPrefix(from, "/dev/tty")) && !slices.Contains(words, "-p") && !slices.Contains(words, "--print")
		}
		if pid = parentOf(pid); pid == 0 {
			return true
		}
	}
	return false
}

// parentOf returns the parent of a process, or 0.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // on error the parent stays 0
	return parent
}
