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

// docEnds matches the white space at the ends of the lines of doc comments in a
// dump: it is no part of their texts.
var docEnds = regexp.MustCompile(`[ \t]+(\\n|"$|" )`)

// tree is a text's tree without places; ok is false when it does not parse.
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

// widths are the line widths with which the properties are tested: with the
// narrowest, everything is broken.
var widths = []int{1, 40, DefaultWidth}

// hold checks that formatting preserves the tree and the comments, and that formatting twice
// changes nothing. It reports whether the text parses.
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
			t.Fatalf("width %d: the tree changed\n--- source\n%s\n--- formatted\n%s\n--- tree\n%s\n--- was\n%s", w, text, once, got, want)
		}
		twice, _ := Source(source.NewFile("main.conc", []byte(once)), w)
		if string(twice) != once {
			t.Fatalf("width %d: formatting again changes\n%s\n--- source\n%s", w, firstDifference(once, string(twice)), text)
		}
		checkShape(t, once)
	}
	return true
}

// firstDifference shows where two texts part.
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

// checkShape checks that lines outside of tokens and comments neither end in
// white space nor hold tabs, and that there are no two blank lines in a row.
func checkShape(t *testing.T, text string) {
	t.Helper()
	toks, comments, _ := lexer.Lex(source.NewFile("main.conc", []byte(text)))
	gap := func(a, b source.Pos) {
		s := text[a:b]
		if strings.Contains(s, " \n") || strings.ContainsAny(s, "\t\r") || strings.Contains(s, "\n\n\n") {
			t.Fatalf("odd white space %q in\n%s", s, text)
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
		t.Fatalf("odd start or end in %q", text)
	}
}

var specBlock = regexp.MustCompile("(?s)```concerto([^\n]*)\n(.*?)```")

// programs returns all Concerto programs of the repository by name, and those of
// the documents and the black-box suite beside it when these are there.
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

// All programs there are keep their trees, and are formatted for good.
func TestAllPrograms(t *testing.T) {
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
		t.Errorf("only %d programs parse", parsed)
	}
}

// noises are what the mutants have between their tokens.
var noises = []string{
	"\n", "\n\n", "\n\n\n", "  ", "// c\n", " // c\n", "\n// c\n", "\n\n// c\n\n", "\n// c\n\n// d\n", "// c\n// d\n",
	"/* c */", " /* c */ ", "\n/* c */\n", "\n/* c */ ", " /* c */\n", "/* c\n  d */", "\n\n/* c\n\td */\n", "/* c *//* d */", "/* c */ // d\n",
	"/// c\n", "\n/// c\n", " // c\n\n\n/* d */",
}

// noisy returns a text with comments and line ends strewn between its tokens.
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

// Comments may be between any two tokens, and lines may end anywhere.
func TestCommentsAnywhere(t *testing.T) {
	randtest.InOneGoroutine(t)
	all := programs(t)
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		seed := fnv.New64a() // of the program alone: no other one, and no name, changes where its comments are
		seed.Write([]byte(all[name]))
		text := noisy(rand.New(rand.NewSource(int64(seed.Sum64()))), all[name], []int{3, 12, 60}[i%3])
		if len(text) < 10_000 {
			t.Run(name, func(t *testing.T) { hold(t, text) })
		}
	}
}
