package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostd/prompt"
)

// TestRender checks the visible text of terminal output.
func TestRender(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\nb": "a\nb",
		"\x1b[1;32mgreen\x1b[0m \x1b]0;title\x07x": "green x",
		"10%\r20%\r100%":      "100%",
		"long line\rab\x1b[K": "ab",
		"ab\b\bcd":            "cd",
		"a\tb":                "a       b",
		"\x1b[2J\x1b[Hscreen": "screen",
		"old\x1b[2Jnew":       "new",
		"x\x1b[5Gy":           "x   y",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"cut \x1b[3":       "cut ",
		"\xff\xe2\x9d":     "\ufffd\ufffd\ufffd",
		"\x1b(Bplain\x1b=": "plain",
	} {
		if got := prompt.Render([]byte(in)); got != want {
			t.Errorf("Render(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestMenu checks that the choices of the last menu are found, whatever marks they have.
func TestMenu(t *testing.T) {
	for shown, want := range map[string]string{
		"Which database?\n1) Postgres\n2) MySQL\n   the old one\n3) SQLite\nSelect 1-3: ": "1=Postgres 2=MySQL 3=SQLite",
		"❯ a. Yes \n  b. No\nchoose: ":                                               "a=Yes b=No",
		"1. old\n2. older\ndone\n[1] new\n[2] newer\nchoice> ":                       "1=new 2=newer",
		"1. only one\nselect: ":                                                      "",
		"step 1: read\n3. third\n7. seventh\n":                                       "",
		"8. h\n1. a\n2. b\n3. c\n4. d\n5. e\n6. f\n7. g\n8. h\n9. i\n10. j\nenter: ": "1=a 2=b 3=c 4=d 5=e 6=f 7=g 8=h 9=i 10=j",
	} {
		var got []string
		for _, c := range prompt.Menu(shown) {
			got = append(got, c.Key+"="+c.Label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Menu(%q) = %v", shown, got)
		}
	}
}

// TestRules checks that questions are detected and other text is not. The rules in a user's file
// take precedence.
func TestRules(t *testing.T) {
	own, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, shown, reason, approve, question string }{
		{"apt", "2 upgraded.\nDo you want to continue? [Y/n] ", "permission", "y\n", "Do you want to continue? [Y/n]"},
		{"x", "Delete all? (y/n): ", "permission", "y\n", "Delete all? (y/n):"},
		{"x", "Overwrite [y/N]", "permission", "y\n", "Overwrite [y/N]"},
		{"x", "Proceed?", "permission", "y\n", "Proceed?"},
		{"x", "1) red\n2) blue\nSelect 1-2: ", "choice", "1\n", "1) red\n2) blue\nSelect 1-2:"},
		{"x", "Press Enter to go on", "prompt", "\n", "Press Enter to go on"},
		{"claude", "Bash(rm x)\nDo you want to proceed?\n❯ 1. Yes\n  2. No", "permission", "1", "Do you want to proceed?\n❯ 1. Yes\n  2. No"},
		{"x", "Delete all? (y/n): y\ndone\n$ ", "", "", ""},
		{"x", "how do you proceed? I do not know", "", "", ""},
		{"x", "$ ", "", "", ""},
		{"x", strings.Repeat("ä", 600) + " [y/n]", "permission", "y\n", strings.Repeat("ä", 494) + " [y/n]"},
	} {
		r, q := own.Find(c.tool, c.shown)
		if c.reason == "" {
			if r != nil {
				t.Errorf("Find(%q) found the question %q, want none", c.shown, q)
			}
			continue
		}
		if r == nil || r.Reason != c.reason || r.Approve != c.approve || q != c.question {
			t.Errorf("Find(%q) = %+v, %q", c.shown, r, q)
		}
	}
	file := filepath.Join(t.TempDir(), "prompts.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[[prompt]]\ntool = \"*\"\nmatch = 'Proceed\\?$'\nreason = \"choice\"\napprove = \"go\\n\"\n")
	mine, err := prompt.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := mine.Find("x", "Proceed?"); r == nil || r.Approve != "go\n" {
		t.Errorf("rule of the user's file = %+v", r)
	}
	for text, want := range map[string]string{
		"[[prompt]]\ntool = 1": "tool", "[[prompt]]\ntool = \"*\"\nmatch = '('": "[[prompt]] 1: match", "[[prompt]]\ntool = \"*\"\nmatch = 'a'\nreason = 'x'": `reason "x" is invalid`,
		"[[prompt]]\nmatch = 'a'": "tool and match", "[[prompt]]\nmatches = 'a'": "unknown key",
	} {
		write(text)
		if _, err := prompt.Load(file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("Load of %q: error = %v", text, err)
		}
	}
	if _, err := prompt.Load(file + "x"); err == nil {
		t.Error("Load of a missing file returned no error")
	}
}
