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
	pid, words, known := agentProcess()
	if !known {
		return true
	}
	from, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
	if err != nil {
		return true
	}
	return (strings.HasPrefix(from, "/dev/pts/") || strings.HasPrefix(from, "/dev/tty")) && !slices.Contains(words, "-p") && !slices.Contains(words, "--print")
}

// agentProcess returns the process of the agent that started this process, and its command line.
// known is false where the system does not show it.
func agentProcess() (pid int, words []string, known bool) {
	pid = os.Getppid()
	for range 8 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return 0, nil, false
		}
		words = strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if !slices.Contains(shells, strings.TrimPrefix(filepath.Base(words[0]), "-")) {
			return pid, words, true
		}
		if pid = parentOf(pid); pid <= 1 {
			break
		}
	}
	return 0, nil, false
}

// interpreters are programs that run an agent whose file is their first argument.
var interpreters = []string{"node", "bun", "deno", "python3", "nodejs"}

// AgentProgram identifies the program file of the agent that started this process, by its path,
// size and time of change, so that an update has another value. It returns "" where the system does
// not show it.
func AgentProgram() string {
	pid, words, known := agentProcess()
	if !known {
		return ""
	}
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	if slices.Contains(interpreters, filepath.Base(file)) {
		at := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") })
		if at < 0 {
			return ""
		}
		file = words[1+at]
		if !filepath.IsAbs(file) {
			dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
			if err != nil {
				return ""
			}
			file = filepath.Join(dir, file)
		}
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return ""
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", file, info.Size(), info.ModTime().UnixNano())
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
