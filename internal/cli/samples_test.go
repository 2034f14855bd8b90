package cli

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// TestSamples collects the command lines in help, the manual and hints. Each must name an existing
// command, and flags and arguments that the command accepts.
func TestSamples(t *testing.T) {
	samples := map[string]string{} // place of each sample
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		for _, text := range []string{c.Long, c.Example} {
			for _, s := range samplesOf(text) {
				samples[s] = "help of " + c.CommandPath()
			}
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(newRoot(&console.Console{}, commands))
	for _, s := range samplesOf(manual(t)) {
		samples[s] = "the manual"
	}
	dirs := []string{".", "../compile/diag", "../../sema", "../compile/manifest"}
	all, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.IsDir() && e.Name() != "testdata" {
			dirs = append(dirs, e.Name())
		}
	}
	for _, dir := range dirs {
		for _, text := range texts(t, dir) {
			for _, s := range samplesOf(text) {
				samples[s] = "a text in " + dir
			}
		}
	}
	if len(samples) < 150 {
		t.Errorf("found %d samples, want at least 150", len(samples))
	}
	for s, where := range samples {
		if err := accepted(s); err != nil && !noSamples[s] {
			t.Errorf("sample in %s: `%s`: %v", where, s, err)
		}
	}
}

var (
	inlineSample = regexp.MustCompile("`(concerto [^`\n]*)`")
	lineSample   = regexp.MustCompile(`(?m)^(?:\$ | {2,})?(concerto [a-z-].*)$`)
	remark       = regexp.MustCompile(` {2,}.*$`)
	placeholder  = regexp.MustCompile(`invalid argument "(N|%d)"`)
)

// noSamples are texts that look like samples but are intentionally wrong.
var noSamples = map[string]bool{
	"concerto chekc": true,
}

// samplesOf returns the command lines in a text.
func samplesOf(text string) (all []string) {
	for _, found := range []*regexp.Regexp{inlineSample, lineSample} {
		for _, m := range found.FindAllStringSubmatch(text, -1) {
			all = append(all, strings.TrimSpace(remark.ReplaceAllString(m[1], "")))
		}
	}
	return all
}

// accepted returns the error that the command would return for the sample, or nil.
func accepted(sample string) error {
	words := shellWords(sample)[1:]
	root := newRoot(&console.Console{}, commands)
	root.InitDefaultHelpCmd()
	c, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if c == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return c.Args(c, rest)
	}
	err = c.ParseFlags(rest)
	if needs := (*pflag.ValueRequiredError)(nil); errors.As(err, &needs) || errors.Is(err, pflag.ErrHelp) || err != nil && placeholder.MatchString(err.Error()) {
		return nil // the text mentions the flag without a value
	}
	return err
}

// shellWords splits a command line at unquoted spaces. It stops at a comment, a redirection or
// another command.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quote, has := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, has = r, true
		case quote == 0 && !has && strings.ContainsRune("#|&<>", r):
			return words
		case quote == 0 && r == ';':
			return append(words, word.String())
		case quote == 0 && r == ' ':
			if has {
				words = append(words, word.String())
				word.Reset()
				has = false
			}
		default:
			word.WriteRune(r)
			has = true
		}
	}
	return words
}

// texts returns the string literals of the Go files in dir, except test files.
func texts(t *testing.T, dir string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, err := strconv.Unquote(l.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
			return true
		})
	}
	return all
}

// TestReplSamples runs the REPL sessions that help and the manual show. The results must be the
// same as in the text.
func TestReplSamples(t *testing.T) {
	_, section, _ := strings.Cut(manual(t), "\n## repl\n")
	_, session, _ := strings.Cut(section, "```text\n")
	session, _, _ = strings.Cut(session, "```")
	repl, _, err := newRoot(&console.Console{}, commands).Find([]string{"repl"})
	if err != nil {
		t.Fatal(err)
	}
	help, _, _ := strings.Cut(repl.Long, "\n  :type ")
	for name, text := range map[string]string{"help": help, "manual": session} {
		var typed, want strings.Builder
		open := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			input, is := strings.CutPrefix(line, "> ")
			if !is {
				input, is = strings.CutPrefix(line, ". ")
			}
			switch {
			case is:
				typed.WriteString(remark.ReplaceAllString(strings.TrimSpace(input), "") + "\n")
				open = true
			case line == "":
				open = false
			case open:
				want.WriteString(line + "\n")
			}
		}
		if typed.Len() == 0 {
			t.Errorf("%s contains no session", name)
		}
		var out, errs strings.Builder
		code := run([]string{"repl", "--mock"}, &console.Console{Stdin: strings.NewReader(typed.String()), Stdout: &out, Stderr: &errs, Dir: t.TempDir()})
		if code != 0 || out.String() != want.String() {
			t.Errorf("%s: exit code %d, %s\ngot:\n%swant:\n%s", name, code, errs.String(), out.String(), want.String())
		}
	}
}
