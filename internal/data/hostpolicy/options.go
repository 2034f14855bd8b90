package hostpolicy

import (
	"slices"
	"strings"
)

// Launcher is a command with options that run other programs, or that write files which the command
// does not seem to write. A rule such as `go test *` does not allow these options: only a rule that
// contains the option does.
type Launcher struct {
	Command string // the name, and a subcommand if only that has the options
	Options []string
}

// Launchers is the table of such commands. Options that begin with one `-` and have more letters
// are written like that, as in `find -exec`; a single letter may also be a part of a group, as in
// `tar -xIf`.
var Launchers = []Launcher{
	{"awk", []string{"-f", "--file", "-l", "--load"}},
	{"cargo", []string{"--config", "--manifest-path"}},
	{"curl", []string{"-K", "--config", "-o", "--output", "-O", "--remote-name"}},
	{"docker", []string{"--entrypoint", "--mount", "--privileged", "-v", "--volume"}},
	{"fd", []string{"-x", "--exec", "-X", "--exec-batch"}},
	{"find", []string{"-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"}},
	{"gcc", []string{"-B", "-fplugin", "-specs", "-wrapper"}},
	{"git", []string{"-c", "--config-env", "--exec", "--exec-path", "--ext-diff", "--extcmd", "--git-dir", "--output", "--receive-pack", "--textconv", "--upload-pack", "--work-tree"}},
	{"git difftool", []string{"-x"}},
	{"git grep", []string{"-O", "--open-files-in-pager"}},
	{"git rebase", []string{"-x"}},
	{"go", []string{"-exec", "-modfile", "-o", "-overlay", "-toolexec", "-vettool"}},
	{"make", []string{"-f", "--file", "--makefile", "-C", "--directory", "-E", "--eval", "-I", "--include-dir", "SHELL"}},
	{"man", []string{"-H", "--html", "-P", "--pager"}},
	{"node", []string{"-e", "--eval", "--import", "--loader", "-p", "--print", "-r", "--require"}},
	{"npm", []string{"-C", "--node-options", "--prefix", "--script-shell"}},
	{"perl", []string{"-e", "-E", "-M"}},
	{"pytest", []string{"-c", "--config-file", "-o", "--override-ini", "-p", "--rootdir"}},
	{"python", []string{"-c", "-m"}},
	{"python3", []string{"-c", "-m"}},
	{"rg", []string{"--hostname-bin", "--pre"}},
	{"rsync", []string{"-e", "--rsh", "--rsync-path"}},
	{"ruby", []string{"-e", "-r", "--require"}},
	{"scp", []string{"-F", "-o", "-S"}},
	{"sed", []string{"-f", "--file", "-i", "--in-place"}},
	{"sort", []string{"--compress-program", "-o", "--output"}},
	{"ssh", []string{"-F", "-o"}},
	{"tar", []string{"--checkpoint-action", "-F", "-I", "--info-script", "--new-volume-script", "--rmt-command", "--rsh-command", "--to-command", "--use-compress-program"}},
	{"tcpdump", []string{"-w", "-z"}},
	{"wget", []string{"-e", "--execute", "-O", "--output-document", "--use-askpass"}},
	{"zip", []string{"-TT", "--unzip-command"}},
}

// named reports whether a glob contains each word of a command that is an option of Launchers.
func named(glob, command string) bool {
	fields := strings.Fields(glob)
	for _, words := range parseCommandLine(command).simple {
		for _, l := range Launchers {
			name, sub, _ := strings.Cut(l.Command, " ")
			if words[0] != name || sub != "" && !slices.Contains(words, sub) {
				continue
			}
			for _, word := range words[1:] {
				for _, option := range l.Options {
					if uses(word, option) && !slices.ContainsFunc(fields, func(f string) bool { return f == word || isOption(f, option) }) {
						return false
					}
				}
			}
		}
	}
	return true
}

// isOption reports whether a word is an option, with or without a value.
func isOption(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	return name == option
}

// uses reports whether a word may be an option of a command. It recognizes abbreviations of long
// options and groups of short ones, and rather sees an option too many than one too few.
func uses(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case name == option, strings.TrimPrefix(name, "-") == option: // Go's flags also accept two `-`
		return true
	case strings.HasPrefix(option, "--"):
		return len(name) > 2 && strings.HasPrefix(option, name)
	case len(option) == 2 && option[0] == '-':
		return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && isGroup(word[1:], option[1])
	}
	return false
}

// isGroup reports whether a letter may be an option in a group, the text after `-`. The first
// letter may be followed by its value; the others are only letters.
func isGroup(group string, letter byte) bool {
	for i := range len(group) {
		switch c := group[i]; {
		case c == letter:
			return true
		case c < 'A' || c > 'z' || c > 'Z' && c < 'a':
			return false
		}
	}
	return false
}
