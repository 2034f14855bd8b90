package hostpolicy

import (
	"slices"
	"strings"
	"unicode"
)

// shellCharacters contains the characters with a special meaning in a shell. A rule cannot allow a
// command that contains one of them.
const shellCharacters = ";&|<>$`\\()"

// isPlain reports whether a command contains no shellCharacters, line ends or invisible characters.
func isPlain(command string) bool {
	return !strings.ContainsAny(command, shellCharacters) && !strings.ContainsFunc(command, func(r rune) bool {
		return r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
	})
}

// allows reports whether one of the globs allows a command. A glob allows an option that runs other
// programs only if it contains the option.
func allows(globs []string, command string) bool {
	command = strings.TrimSpace(command)
	return command != "" && isPlain(command) && slices.ContainsFunc(globs, func(g string) bool { return matchText(g, command) && named(g, command) })
}

// matchesAnyPart reports whether one of the globs matches a command or a part of it.
func matchesAnyPart(globs []string, command string) bool {
	if len(globs) == 0 || command == "" {
		return false
	}
	return slices.ContainsFunc(parts(command), func(part string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { return matchText(g, part) })
	})
}

// parts returns a command, and the commands that a shell might run for it, each also with single
// spaces between words. Text in quotes is split too, because a deny rule should rather match too
// much.
func parts(command string) []string {
	all := append([]string{command}, strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|()`\n\r", r) })...)
	var out []string
	for _, part := range all {
		part = strings.TrimSpace(part)
		out = append(out, part, strings.Join(strings.Fields(part), " "))
	}
	return out
}

// matchText reports whether a glob matches a whole text. `*` matches any text, and `?` one
// character.
func matchText(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, mark, i, j := -1, 0, 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
