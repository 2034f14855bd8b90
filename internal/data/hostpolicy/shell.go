package hostpolicy

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// Deny rules are compared with the commands that a shell would run. This file parses a command as a
// POSIX shell does, as far as that is possible without running it.

// Limits of the parser. A command that exceeds them is unclear.
const (
	maxNesting  = 8  // depth of nested scripts, as in sh -c "sh -c …"
	maxPrefixes = 16 // number of wrappers before a command
)

// keywords contains the words that may precede a command.
var keywords = []string{
	"!", "{", "}", "if", "then", "else", "elif", "fi", "while", "until", "do", "done",
}

// wrappers contains the commands that run another command, which is in their arguments.
var wrappers = []string{
	"env", "sudo", "doas", "su", "nohup", "timeout", "xargs", "nice", "ionice", "chrt",
	"setsid", "stdbuf", "unbuffer", "time", "command", "builtin", "exec", "chroot", "unshare",
	"nsenter", "strace", "ltrace", "watch", "parallel", "busybox", "toybox", "flock", "script",
	"setarch", "taskset", "systemd-run", "runuser", "caffeinate",
}

// shells contains the commands that run a script from an argument or from standard input.
var shells = []string{
	"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash",
}

// obscureCommands contains the words after which the rest is not parsed.
var obscureCommands = []string{
	"case", "select", "for", "function", "alias", "coproc", "source", ".", "trap", "hash",
	"enable",
}

// commandLine is the result of parsing a command.
type commandLine struct {
	simple [][]string // words of each simple command; the first word has no directory
	// unclear means that the command may run commands that simple does not contain.
	unclear bool
}

// parseCommandLine parses a command.
func parseCommandLine(command string) *commandLine {
	c := &commandLine{}
	c.addScript(command, 0)
	return c
}

// matches reports whether one of the globs matches a simple command. A glob such as `rm *` also
// matches `rm` without arguments, because xargs may add them.
func (c *commandLine) matches(globs []string) bool {
	return slices.ContainsFunc(c.simple, func(words []string) bool {
		text := strings.Join(words, " ")
		return slices.ContainsFunc(globs, func(g string) bool { return matchText(g, text) || matchText(g, text+" ") })
	})
}

// addScript adds the commands of a script.
func (c *commandLine) addScript(text string, depth int) {
	l := lexer{text: []rune(text)}
	l.run()
	c.unclear = c.unclear || l.unclear
	for _, words := range l.commands {
		c.addCommand(words, depth)
	}
}

// addCommand adds a simple command, and the commands that it runs.
func (c *commandLine) addCommand(words []word, depth int) {
	if depth > maxNesting {
		c.unclear = true
		return
	}
	for len(words) > 0 && (slices.Contains(keywords, words[0].text) || words[0].isAssignment()) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	name := path.Base(words[0].text)
	c.addSimple(words)
	c.unclear = c.unclear || words[0].varies && strings.Trim(words[0].text, "[") != "" || slices.Contains(obscureCommands, name)
	switch rest := words[1:]; {
	case name == "eval":
		c.addScript(joinWords(rest), depth+1)
	case slices.Contains(shells, name):
		script := false
		for _, w := range rest {
			script = script || !strings.HasPrefix(w.text, "-")
			c.addScript(w.text, depth+1)
		}
		c.unclear = c.unclear || !script // without a script argument, the shell reads its standard input
	case slices.Contains(wrappers, name):
		for i, w := range rest {
			if i == maxPrefixes {
				c.unclear = true
				break
			}
			c.unclear = c.unclear || w.varies
			c.addSimple(rest[i:])
			if strings.ContainsAny(w.text, " \t\n;&|") {
				c.addScript(w.text, depth+1)
			} else if inner := path.Base(w.text); slices.Contains(shells, inner) || inner == "eval" {
				c.addCommand(rest[i:], depth+1)
				return
			}
		}
	case name == "find":
		for i, w := range rest {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.text) {
				c.addCommand(rest[i+1:], depth+1)
				return
			}
		}
	}
}

// addSimple adds the words of a simple command. The first word loses its directory.
func (c *commandLine) addSimple(words []word) {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.text
	}
	all[0] = path.Base(all[0])
	c.simple = append(c.simple, all)
}

func joinWords(words []word) string {
	var all []string
	for _, w := range words {
		all = append(all, w.text)
	}
	return strings.Join(all, " ")
}

// word is a word of a command without quotes.
type word struct {
	text string
	// varies means that a shell may replace the word by file names.
	varies bool
}

// isAssignment reports whether the word assigns a variable for the following command.
func (w word) isAssignment() bool {
	name, _, ok := strings.Cut(w.text, "=")
	name = strings.TrimSuffix(name, "+")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// lexer splits a script into words and operators.
type lexer struct {
	text     []rune
	at       int
	commands [][]word
	unclear  bool

	words  []word
	word   strings.Builder
	begun  bool // a word has begun
	varies bool // the current word varies
	braced bool // the current word contains an open brace
	target bool // the next word is the file of a redirection
}

func (l *lexer) run() {
	for l.at < len(l.text) {
		l.readToken()
	}
	l.endCommand()
}

// peek returns the character after the current one, or 0.
func (l *lexer) peek() rune {
	if l.at+1 < len(l.text) {
		return l.text[l.at+1]
	}
	return 0
}

func (l *lexer) put(r rune) {
	l.word.WriteRune(r)
	l.begun = true
}

func (l *lexer) endWord() {
	if l.begun && !l.target {
		l.words = append(l.words, word{l.word.String(), l.varies})
	}
	l.target = l.target && !l.begun
	l.word.Reset()
	l.begun, l.varies, l.braced = false, false, false
}

func (l *lexer) endCommand() {
	l.endWord()
	if len(l.words) > 0 {
		l.commands = append(l.commands, l.words)
	}
	l.words, l.target = nil, false
}

// readToken reads the token at l.at.
func (l *lexer) readToken() {
	switch r := l.text[l.at]; r {
	case ' ', '\t':
		l.endWord()
	case '\n', ';', '|', '(', ')':
		l.endCommand()
	case '&':
		if l.peek() != '>' {
			l.endCommand()
		}
	case '`':
		l.unclear = true
		l.endCommand()
	case '<', '>':
		l.readRedirection(r)
	case '\'':
		l.readQuoted()
	case '"':
		l.readDoubleQuoted()
	case '\\':
		if l.at++; l.at == len(l.text) {
			l.unclear = true
		} else if l.text[l.at] != '\n' {
			l.put(l.text[l.at])
		}
	case '$':
		if next := l.peek(); next != '"' {
			l.unclear = true
			l.put(r)
		}
	case '#':
		if l.begun {
			l.put(r)
			break
		}
		for l.at+1 < len(l.text) && l.peek() != '\n' {
			l.at++
		}
	case '*', '?', '[':
		l.varies = true
		l.put(r)
	case '{':
		l.braced = true
		l.put(r)
	case ',', '.': // {a,b} and {1..3} become several words
		l.unclear = l.unclear || l.braced && (r == ',' || l.peek() == '.')
		l.put(r)
	default:
		l.unclear = l.unclear || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
		l.put(r)
	}
	l.at++
}

// readRedirection reads the operator of a redirection. The file after it is not a word of the
// command.
func (l *lexer) readRedirection(r rune) {
	if number := l.word.String(); strings.Trim(number, "0123456789") == "" {
		l.word.Reset() // drops the number of the file, as in 2>&1
		l.begun = false
	}
	l.endWord()
	switch next := l.peek(); {
	case next == '(', r == '<' && next == '<': // the following text is a script or an input text
		l.unclear = true
	case strings.ContainsRune(">&|", next):
		l.at++
		l.target = true
	default:
		l.target = true
	}
}

// readQuoted reads a text in single quotes.
func (l *lexer) readQuoted() {
	l.begun = true
	for l.at++; l.at < len(l.text); l.at++ {
		if l.text[l.at] == '\'' {
			return
		}
		l.put(l.text[l.at])
	}
	l.unclear = true
}

// readDoubleQuoted reads a text in double quotes.
func (l *lexer) readDoubleQuoted() {
	l.begun = true
	for l.at++; l.at < len(l.text); l.at++ {
		switch r := l.text[l.at]; {
		case r == '"':
			return
		case r == '\\' && strings.ContainsRune("\\\"$`\n", l.peek()):
			if l.at++; l.text[l.at] != '\n' {
				l.put(l.text[l.at])
			}
		default:
			l.unclear = l.unclear || r == '$' || r == '`'
			l.put(r)
		}
	}
	l.unclear = true
}
