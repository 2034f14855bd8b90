package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// maxEnvFile is the maximum size of a file with environment variables, in bytes.
const maxEnvFile = 1 << 20

// environment returns the command's environment extended by the variables in files. A variable of
// the command's environment has priority over the files. A later file has priority over an earlier
// file.
func environment(a *console.Console, files []string) ([]string, error) {
	if len(files) == 0 {
		return a.Environ, nil
	}
	var all []string
	for _, name := range files {
		text, err := readEnvFile(a, name)
		if err != nil {
			return nil, console.Usage("the file must contain lines NAME=VALUE", "--env: read %s: %v", name, console.Cause(err))
		}
		set, line, err := parseEnv(text)
		if err != nil {
			return nil, console.Usage("write NAME=VALUE; put the value in quotes if it contains `#`, several lines, or spaces at its ends", "%s:%d: %v", name, line, err)
		}
		all = append(all, set...)
	}
	return append(all, a.Environ...), nil // if a name occurs several times, its last value is used
}

func readEnvFile(a *console.Console, name string) (string, error) {
	full := a.Abs(name)
	switch info, err := os.Stat(full); {
	case err != nil:
		return "", err
	case info.IsDir() || info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(full)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxEnvFile:
		return "", errors.New("the file is larger than 1 MiB")
	case !utf8.Valid(text):
		return "", errors.New("the file is not UTF-8")
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

// parseEnv parses lines of the form `NAME=VALUE`. A line may begin with `export `. A value in
// double quotes may contain escapes, a value in single quotes is literal, and both may span lines.
// After an unquoted value, a `#` that follows a space begins a comment. If err is not nil, line is
// the number of the line with the error. The messages contain no values, because values may be
// secrets.
func parseEnv(text string) (set []string, line int, err error) {
	line = 1
	for text != "" {
		row, rest, _ := strings.Cut(text, "\n")
		trimmed := strings.TrimSpace(strings.TrimSuffix(row, "\r"))
		if trimmed == "" || trimmed[0] == '#' {
			text, line = rest, line+1
			continue
		}
		name, v, ok := strings.Cut(trimmed, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !ok || !isVariable(name) {
			return nil, line, errors.New("the line does not start with NAME=")
		}
		v = strings.TrimSpace(v)
		if v == "" || v[0] != '"' && v[0] != '\'' {
			if at := strings.Index(v, " #"); at >= 0 {
				v = strings.TrimSpace(v[:at])
			}
			if strings.HasPrefix(v, "#") {
				v = ""
			}
			set, text, line = append(set, name+"="+v), rest, line+1
			continue
		}
		at := strings.IndexByte(text, '=') + 1
		at += strings.IndexByte(text[at:], v[0])
		value, length, ok := quotedValue(text[at:])
		if !ok {
			return nil, line, fmt.Errorf("the quoted value of %s has no closing quote", name)
		}
		after, rest, _ := strings.Cut(text[at+length:], "\n")
		if after = strings.TrimSpace(after); after != "" && after[0] != '#' {
			return nil, line + strings.Count(text[:at+length], "\n"), fmt.Errorf("unexpected text after the quoted value of %s", name)
		}
		line += strings.Count(text[:at+length], "\n") + 1
		set, text = append(set, name+"="+value), rest
	}
	return set, 0, nil
}

// quotedValue parses a quoted value at the start of text. length is the length of the quoted text
// in bytes, including the quotes.
func quotedValue(text string) (value string, length int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return b.String(), i + 1, true
		case c == '\\' && text[0] == '"' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '$', '\'':
				b.WriteByte(text[i])
			default:
				b.WriteByte('\\')
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

// isVariable reports whether name is a valid name of a variable.
func isVariable(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
