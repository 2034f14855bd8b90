package format

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/parser"
)

// docEnds matches white space at line ends of doc comments in a dump of the syntax tree. This white
// space is not part of the comments' text.
var docEnds = regexp.MustCompile(`[ \t]+(\\n|"$|" )`)

// tree returns a dump of the text's syntax tree without positions. ok is false if the text has
// syntax errors.
func tree(t *testing.T, text string) (dump string, ok bool) {
	t.Helper()
	file, list := parser.Parse(source.NewFile("main.conc", []byte(text)))
	if list.HasErrors() {
		return "", false
	}
	var b, out strings.Builder
	if err := ast.Dump(&b, file); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		line = line[:strings.LastIndex(line, " @")]
		if strings.Contains(line, ` Doc="`) {
			line = docEnds.ReplaceAllString(line, "$1")
		}
		out.WriteString(line + "\n")
	}
	return out.String(), true
}

// widths lists the line widths with which the tests format. At width 1, everything that can be
// broken into several lines is broken.
var widths = []int{1, 40, DefaultWidth}

// hold checks that formatting preserves the syntax tree, and that formatting the result again does
// not change it. It reports whether the text has no syntax errors.
func hold(t *testing.T, text string) bool {
	t.Helper()
	want, ok := tree(t, text)
	for _, w := range widths {
		out, list := Source(source.NewFile("main.conc", []byte(text)), w)
		if !ok {
			if out != nil || !list.HasErrors() {
				t.Fatalf("a text with syntax errors was formatted:\n%s", text)
			}
			return false
		}
		once := string(out)
		if got, ok := tree(t, once); !ok || got != want {
			t.Fatalf("width %d: the tree changed\n--- source\n%s\n--- formatted\n%s\n--- tree after\n%s\n--- tree before\n%s", w, text, once, got, want)
		}
		twice, _ := Source(source.NewFile("main.conc", []byte(once)), w)
		if string(twice) != once {
			t.Fatalf("width %d: formatting the result again changes it\n%s\n--- source\n%s", w, firstDifference(once, string(twice)), text)
		}
		checkShape(t, once)
	}
	return true
}

// firstDifference returns the lines around the first difference between two texts.
func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	n := 0
	for n < min(len(as), len(bs)) && as[n] == bs[n] {
		n++
	}
	part := func(lines []string) string {
		return strings.Join(lines[max(0, min(n, len(lines))-3):min(n+4, len(lines))], "\n")
	}
	return fmt.Sprintf("--- once\n%s\n--- twice\n%s", part(as), part(bs))
}

// checkShape checks the white space between tokens and comments: there are no tabs, no spaces
// before line ends and no consecutive blank lines.
func checkShape(t *testing.T, text string) {
	t.Helper()
	toks, comments, _ := lexer.Lex(source.NewFile("main.conc", []byte(text)))
	gap := func(a, b source.Pos) {
		s := text[a:b]
		if strings.Contains(s, " \n") || strings.ContainsAny(s, "\t\r") || strings.Contains(s, "\n\n\n") {
			t.Fatalf("white space between tokens = %q, want no tab, no carriage return, no space before a line end and at most one blank line, in\n%s", s, text)
		}
	}
	pos := source.Pos(0)
	for _, k := range toks {
		for len(comments) > 0 && comments[0].Start < k.Start {
			gap(pos, comments[0].Start)
			pos, comments = comments[0].End, comments[1:]
		}
		gap(pos, k.Start)
		pos = k.End
	}
	if text != "" && (strings.HasPrefix(text, "\n") || !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n")) {
		t.Fatalf("the text starts with a line end, or does not end with exactly one: %q", text)
	}
}

var specBlock = regexp.MustCompile("(?s)```concerto([^\n]*)\n(.*?)```")

// programs returns the Concerto programs in the files of the repository, by path. It includes
// programs outside the repository, such as those of the black-box tests, if their directories
// exist.
func programs(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, root := range []string{"../../..", "../../../../shared/conformance", "../../../../shared/seeds"} {
		if _, err := os.Stat(root); err != nil {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if name := d.Name(); d.IsDir() && (name == ".git" || name == "node_modules") {
				return fs.SkipDir
			}
			switch filepath.Ext(path) {
			case ".conc":
				all[path] = read(t, path)
			case ".txtar":
				for _, f := range txtar.Parse([]byte(read(t, path))).Files {
					if strings.HasSuffix(f.Name, ".conc") {
						all[path+":"+f.Name] = string(f.Data)
					}
				}
			case ".md":
				for i, m := range specBlock.FindAllStringSubmatch(read(t, path), -1) {
					text := m[2]
					if strings.Contains(m[1], "fragment") {
						text = "fn main() {\n" + text + "}\n"
					}
					all[path+":"+string(rune('0'+i%10))+":"+m[2][:min(20, len(m[2]))]] = text
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFormatAllPrograms checks that formatting preserves the syntax tree of all programs, and that
// formatting the result again does not change it.
func TestFormatAllPrograms(t *testing.T) {
	randtest.InOneGoroutine(t)
	parsed := 0
	for name, text := range programs(t) {
		t.Run(name, func(t *testing.T) {
			if hold(t, text) {
				parsed++
			}
		})
	}
	if parsed < 300 {
		t.Errorf("number of programs without syntax errors = %d, want at least 300", parsed)
	}
}

// noises lists the comments and white space that noisy inserts between tokens.
var noises = []string{
	"\n", "\n\n", "\n\n\n", "  ", "// c\n", " // c\n", "\n// c\n", "\n\n// c\n\n", "\n// c\n\n// d\n", "// c\n// d\n",
	"/* c */", " /* c */ ", "\n/* c */\n", "\n/* c */ ", " /* c */\n", "/* c\n  d */", "\n\n/* c\n\td */\n", "/* c *//* d */", "/* c */ // d\n",
	"/// c\n", "\n/// c\n", " // c\n\n\n/* d */",
}

// noisy inserts random comments and white space between tokens of the text, on average before one
// token of every tokens.
func noisy(rnd *rand.Rand, text string, every int) string {
	toks, _, _ := lexer.Lex(source.NewFile("", []byte(text)))
	var b strings.Builder
	pos, depth := source.Pos(0), 0
	for i, k := range toks {
		b.WriteString(text[pos:k.Start])
		pos = k.Start
		glued := i > 0 && k.Kind == lexer.Assign && toks[i-1].Kind == lexer.Greater && toks[i-1].End == k.Start
		if depth == 0 && !glued && rnd.Intn(every) == 0 {
			b.WriteString(noises[rnd.Intn(len(noises))])
		}
		switch k.Kind {
		case lexer.StringHead:
			depth++
		case lexer.StringTail:
			depth--
		}
	}
	b.WriteString(text[pos:])
	return b.String()
}

// TestCommentsAnywhere formats programs with random comments and line ends between their tokens.
func TestCommentsAnywhere(t *testing.T) {
	randtest.InOneGoroutine(t)
	all := programs(t)
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		seed := fnv.New64a() // the text is the seed, so new or renamed programs do not change the comments in this one
		seed.Write([]byte(all[name]))
		text := noisy(rand.New(rand.NewSource(int64(seed.Sum64()))), all[name], []int{3, 12, 60}[i%3])
		if len(text) < 10_000 {
			t.Run(name, func(t *testing.T) { hold(t, text) })
		}
	}
}
