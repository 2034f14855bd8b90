package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// phrase is a phrase that comments, messages, help and the manual must not contain.
type phrase struct {
	name    string // name of the phrase in failure texts and in voiceExceptions
	pattern string // regular expression in which a space matches any white space
	instead string
	unless  string // regular expression; a match is allowed if the text from the match on matches it
}

// phrases lists words that are hard to understand in their present use, with plain words to write
// instead. CONTRIBUTING.md shows examples.
var phrases = []phrase{
	{name: "behind", pattern: `behind`, instead: "after (only a queue, a proxy or time is behind something)",
		unless: `behind (a|an|the|your|its|another|one|that|this)? ?(reverse |load |caching |TLS |HTTPS |corporate )*(prox|queue|load balancer|firewall|schedule)`},
	{name: "to be had", pattern: `(cannot|can|to) be had`, instead: "is not available; could not be loaded: and why"},
	{name: "stands", pattern: `(stands?|stood|standing) (for|on|in|at|beside|behind|before|there|here|above|below|next|by|under|between|after|where|still)`,
		instead: "is, means, represents, appears"},
	{name: "tells", pattern: `(tells?|told|telling)`, instead: "logs, prints, reports, notifies, sends; is notified", unless: `\S+ \S* ?apart|\S+ them apart`},
	{name: "says", pattern: `(says|said|saying)`, instead: "reports, prints, states, returns, specifies"},
	{name: "gives", pattern: `gives`, instead: "returns, passes, produces"},
	{name: "hands on", pattern: `(hands?|handed|handing) (on|out|over)`, instead: "passes, returns, propagates"},
	{name: "goes on", pattern: `(go|goes|going|gone|went) on`, instead: "continues, resumes"},
	{name: "comes back", pattern: `(come|comes|came|coming) back`, instead: "returns, resumes, reconnects"},
	{name: "whom", pattern: `whom(ever)?`, instead: "the role: caller, host, client, user, owner"},
	{name: "nobody", pattern: `nobody`, instead: "no handler, no client, no caller"},
	{name: "headless What or Who", pattern: `(^\s*|[.:;] )(What|Who|Whoever|Whatever|Whose|Whom) `, instead: "a noun: the stored events, the subscriber",
		unless: `[^.]*\?`},
	{name: "hears", pattern: `(hears?|heard|hearing)`, instead: "receives, is notified"},
	{name: "anew", pattern: `anew`, instead: "again; from the beginning"},
	{name: "meanwhile", pattern: `meanwhile`, instead: "concurrently, at the same time"},
	{name: "what of", pattern: `what of`, instead: "a noun"},
	{name: "is over", pattern: `(is|are|was|were) over`, instead: "ended, expired, is done"},
	{name: "is gone", pattern: `(is|are|was|were|be|been|has|have|had) gone`, instead: "no longer exists, was removed, exited, disconnected"},
	{name: "looks at", pattern: `(looks?|looked|looking) (at|for|into|whether|there|after)`, instead: "checks, inspects, reads, searches"},
	{name: "is seen", pattern: `(is|are|was|were|be|been) seen`, instead: "is visible, was observed"},
	{name: "asks for", pattern: `(asks|asked|asking) for`, instead: "requests, requires"},
	{name: "wants", pattern: `(wants|wanted|wanting)`, instead: "requests, requires, expects, needs"},
	{name: "keeps", pattern: `(keeps|(is|are|be|been|was|were) kept)`, instead: "stores, retains, holds; stays"},
	{name: "is to", pattern: `(is|are|was|were) to (be )?[a-z]+`, instead: "must, should"},
	{name: "is due", pattern: `(is|are|was|were|be) due`, instead: "is scheduled, must run", unless: `\S+ due( (to|at|on)|: nothing)`},
	{name: "mistake", pattern: `mistakes?`, instead: "error"},
	{name: "is taken", pattern: `((is|are|be|been|was|were) taken|(takes?|took|taking) (up|in))`, instead: "is accepted, read, claimed, used; adopts, consumes", unless: `\S+ up to`},
	{name: "made of", pattern: `(made of|agents? makes?)`, instead: "consists of, built from, created by"},
	{name: "metaphor", pattern: `(deeds?|fates?|strays?|strayed|errands?|trays?)`, instead: "action, outcome, out-of-exchange message, request, queue"},
}

// find returns the matches of the phrase in a text, as pairs of offsets.
func (p phrase) find(text string) [][]int {
	var found [][]int
	for _, at := range regexpOf(`\b(?:`+p.pattern+`)\b`, p.name).FindAllStringIndex(text, -1) {
		if p.unless == "" || !regexpOf(`^(?:`+p.unless+`)`, p.name).MatchString(text[at[0]:]) {
			found = append(found, at)
		}
	}
	return found
}

// compiledPhrases caches the results of regexpOf by name.
var compiledPhrases = map[string]*regexp.Regexp{}

// regexpOf compiles the pattern of the phrase with the given name. A space in the pattern matches
// any white space.
func regexpOf(pattern, name string) *regexp.Regexp {
	re := compiledPhrases[pattern]
	if re == nil {
		expr := strings.ReplaceAll(pattern, " ", `\s+`)
		if strings.HasPrefix(name, "headless") { // the phrase must begin a sentence, so case matters and the text may begin with the phrase
			re = regexp.MustCompile(strings.TrimPrefix(expr, `\b`))
		} else {
			re = regexp.MustCompile(`(?i)` + expr)
		}
		compiledPhrases[pattern] = re
	}
	return re
}

// voiceExceptions lists the allowed uses of banned phrases, by file and name of the phrase.
var voiceExceptions = map[string]string{
	"docs/voice.md: *":                   "its examples show the sentences as they were",
	"internal/agents/recorded.go: wants": "the text of a recorded conversation",
}

// TestVoice reports texts that contain a banned phrase. It reads comments and messages of Go files,
// comments of programs and pages, and the project's Markdown.
func TestVoice(t *testing.T) {
	randtest.InOneGoroutine(t)
	used := map[string]bool{}
	check := func(file string, line int, text string) {
		for _, p := range phrases {
			for _, at := range p.find(text) {
				if e := file + ": " + p.name; voiceExceptions[e] != "" {
					used[e] = true
					continue
				}
				if e := file + ": *"; voiceExceptions[e] != "" {
					used[e] = true
					continue
				}
				start, end := max(0, at[0]-30), min(len(text), at[1]+30)
				t.Errorf("%s:%d: %q in %q: write %s", file, line+strings.Count(text[:at[0]], "\n"), p.name,
					strings.Join(strings.Fields(strings.ToValidUTF8(text[start:end], "")), " "), p.instead)
			}
		}
	}
	for _, file := range textFiles(t) {
		data, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range texts(t, file, string(data)) {
			check(file, x.line, x.text)
		}
	}
	if len(voiceExceptions) > 40 {
		t.Errorf("voiceExceptions has %d entries; the maximum is 40", len(voiceExceptions))
	}
	for e := range voiceExceptions {
		if !used[e] {
			t.Errorf("voiceExceptions: %q is no longer needed", e)
		}
	}
}

// passage is a part of a file with the number of its first line. Its line breaks are those of the
// file.
type passage struct {
	line int
	text string
}

// textFiles returns the project's files that contain text for people. The paths are relative to the
// root.
func textFiles(t *testing.T) []string {
	var files []string
	skipped := []string{"testdata", "node_modules", ".git", "dist", "vendor", "bin", "seeds"}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(skipped, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(filepath.Join("..", ".."), name)
		if err != nil {
			return err
		}
		switch filepath.Ext(name) {
		case ".go", ".md", ".conc", ".js", ".mjs", ".ts", ".py":
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil || len(files) < 1000 {
		t.Fatalf("found only %d files (%v)", len(files), err)
	}
	return files
}

var (
	generated = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)
	fence     = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	codeSpan  = regexp.MustCompile("`[^`\n]+`")
	slashes   = regexp.MustCompile(`(?m)(?:^|\s)//+[^\n]*(?:\n\s*//[^\n]*)*`)
	hashes    = regexp.MustCompile(`(?m)(?:^|\s)#+ [^\n]*(?:\n\s*#[^\n]*)*`)
	quoted    = regexp.MustCompile(`"(?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)* (?:[^'\\\n]|\\.)*'`)
	marks     = regexp.MustCompile(`(?m)^\s*(?://+|#+)`)
)

// texts returns the passages of a file: comments and messages of a program, paragraphs of a page.
func texts(t *testing.T, file, data string) []passage {
	if generated.MatchString(data) {
		return nil
	}
	line := func(offset int) int { return 1 + strings.Count(data[:offset], "\n") }
	blank := func(re *regexp.Regexp, s string) string {
		return re.ReplaceAllStringFunc(s, func(m string) string {
			return "x" + strings.Repeat("\n", strings.Count(m, "\n"))
		})
	}
	var found []passage
	each := func(re *regexp.Regexp) {
		for _, at := range re.FindAllStringIndex(data, -1) {
			text := data[at[0]:at[1]]
			found = append(found, passage{line(at[0]), blank(codeSpan, marks.ReplaceAllString(text, ""))})
		}
	}
	switch filepath.Ext(file) {
	case ".md":
		n := 1
		for _, p := range strings.SplitAfter(blank(codeSpan, blank(fence, data)), "\n\n") {
			found = append(found, passage{n, p})
			n += strings.Count(p, "\n")
		}
	case ".go":
		return goTexts(t, file, data)
	case ".py":
		each(hashes)
		each(quoted)
	case ".conc":
		each(slashes)
	default:
		each(slashes)
		each(quoted)
	}
	return found
}

// failures lists the methods of testing.T whose texts people read when a test fails.
var failures = []string{"Error", "Errorf", "Fatal", "Fatalf", "Skip", "Skipf", "Log", "Logf"}

// goTexts returns the comments and messages of a Go file. Messages are strings of more than one
// word. In a test file, only the strings in failure texts are messages, because all other strings
// are data.
func goTexts(t *testing.T, file, data string) []passage {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []passage
	for _, g := range f.Comments {
		var lines []string
		for _, c := range g.List {
			text := strings.TrimPrefix(c.Text, "//")
			if text != c.Text && (strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "lint:") || strings.HasPrefix(text, "\t")) {
				text = "" // the line is a directive or code
			}
			lines = append(lines, codeSpan.ReplaceAllString(strings.TrimSpace(text), "x"))
		}
		found = append(found, passage{fset.Position(g.Pos()).Line, strings.Join(lines, "\n")})
	}
	literal := func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, " ") {
			found = append(found, passage{fset.Position(l.Pos()).Line, codeSpan.ReplaceAllString(strings.Trim(l.Value, "\"`"), "x")})
		}
		return true
	}
	if !strings.HasSuffix(file, "_test.go") {
		ast.Inspect(f, literal)
		return found
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && len(c.Args) > 0 {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains(failures, s.Sel.Name) {
				literal(c.Args[0])
			}
		}
		return true
	})
	return found
}

// TestVoiceTable checks that each phrase is found in a text that contains it, and not in a text in
// which its use is allowed.
func TestVoiceTable(t *testing.T) {
	for _, test := range []struct{ file, text, want string }{
		{"a.go", "package a\n\n// F gives the sum\n// of it.\nfunc F() {}\n", "gives"},
		{"a.go", "package a\n\n// F stands\n// for it.\nfunc F() {}\n", "stands"},
		{"a.go", "package a\n\n// What is stored.\nvar F = 1\n", "headless What or Who"},
		{"a.go", "package a\n\nvar F = \"nobody answers\"\n", "nobody"},
		{"a.go", "package a\n\n// F runs behind a proxy.\nvar F = 1\n", ""},
		{"a.go", "package a\n\n//go:build whom\n\nvar F = \"nobody\"\n", ""},
		{"a_test.go", "package a\n\nvar F = \"it is told\"\n", ""},
		{"a_test.go", "package a\n\nfunc F(t T) { t.Errorf(\"it is told\") }\n", "tells"},
		{"a.md", "It runs `concerto tell`.\n\n```sh\nconcerto tell\n```\n", ""},
		{"a.md", "A run\ngoes on.\n", "goes on"},
		{"a.py", "x = 1 # it is told\n", "tells"},
		{"a.js", "const x = 'a mistake here'; // fine\n", "mistake"},
		{"a.conc", "// What it is\nfn main() {}\n", "headless What or Who"},
	} {
		var got []string
		for _, x := range texts(t, test.file, test.text) {
			for _, p := range phrases {
				if len(p.find(x.text)) > 0 {
					got = append(got, p.name)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprintf("[%s]", test.want) {
			t.Errorf("%s: %q has %v, expected [%s]", test.file, test.text, got, test.want)
		}
	}
}
