package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// replaceText types a text into the editor instead of the current one.
func replaceText(b *browser.Tab, text string) {
	b.Click("@editor")
	selectAll(b)
	b.Paste(text)
}

// selectAll selects the text of the focused field.
func selectAll(b *browser.Tab) { b.Eval("document.activeElement.select()") }

func TestTypedProgramRuns(t *testing.T) {
	b, _ := visit(t, nil)
	b.Click("@editor")
	selectAll(b)
	b.Type("fn main() {\nprintln(\"typed\");\n}\n")
	b.Press("Ctrl+Enter")
	awaitState(b, "done")
	if got := b.Text("@output"); got != "typed\n" {
		t.Errorf("output = %q", got)
	}
	want := "fn main() {\n    println(\"typed\");\n}\n"
	if got := evaluate[map[string]string](t, b, "playground.files()")["main.conc"]; got != want {
		t.Errorf("the indented text is %q, want %q", got, want)
	}
}

func TestDiagnosticsWithFix(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {\n    let count = 1;\n    println(\"${coun}\");\n}\n"})
	b.Wait("document.querySelector('.code-editor .mark.error')")
	b.Click("@tab-problems")
	b.See("E0")
	b.Click("=Fix: Change to `count`")
	b.Wait("!document.querySelector('.code-editor .mark.error')")
	if got := evaluate[map[string]string](t, b, "playground.files()")["main.conc"]; !strings.Contains(got, "${count}") {
		t.Errorf("after the fix: %s", got)
	}
	found := evaluate[[]struct{ Code, Severity, File string }](t, b, "playground.check()")
	if len(found) != 0 {
		t.Errorf("playground.check() = %v after the fix", found)
	}
	b.Eval("playground.put({'main.conc': 'fn main() { let x: Int = \"a\"; }'})")
	found = evaluate[[]struct{ Code, Severity, File string }](t, b, "playground.check()")
	if len(found) == 0 || found[0].Code != "E0301" || found[0].File != "main.conc" {
		t.Errorf("playground.check() = %v, want E0301 in main.conc", found)
	}
}

func TestProgramWithErrorsDoesNotRun(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {\n    printn(1);\n}\n"})
	b.Click("@run")
	awaitState(b, "failed")
	r := evaluate[result](t, b, "playground.run()")
	if r.Code != 2 || !strings.HasPrefix(r.Stderr, "main.conc:2:5: error[E0201]") || !strings.HasSuffix(r.Stderr, "\n1 error\n") {
		t.Errorf("playground.run() = %+v", r)
	}
}

func TestCompletionAndHover(t *testing.T) {
	const program = "struct Point { across: Int, down: Int }\n\nfn main() {\n    let p = Point { across: 1, down: 2 };\n    println(\"😀\"); println(\"${p.across}\");\n}\n"
	b, _ := visit(t, map[string]string{"main.conc": program})
	utf16 := func(text string) int {
		n := 0
		for _, r := range program[:strings.Index(program, text)] {
			n++
			if r >= 0x10000 {
				n++
			}
		}
		return n
	}
	labels := evaluate[[]string](t, b, fmt.Sprintf("playground.complete('main.conc', %d)", utf16("across}")))
	if got := strings.Join(labels, " "); !strings.Contains(got, "across") || !strings.Contains(got, "down") {
		t.Errorf("completions = %s", got)
	}
	if got := b.Eval(fmt.Sprintf("playground.hover('main.conc', %d)", utf16("across}")+1)); !strings.Contains(fmt.Sprint(got), "across: Int") {
		t.Errorf("hover = %v", got)
	}
	// in the editor: completions after a dot, chosen by keys
	b.Eval(fmt.Sprintf("document.querySelector('[data-testid=editor]').setSelectionRange(%d, %d)", utf16(".across}"), utf16("across}")+len("across")))
	b.Eval("document.querySelector('[data-testid=editor]').focus()")
	b.Type(".")
	b.Wait("document.querySelectorAll('[data-testid=completions] [role=option]').length >= 2")
	b.Type("dow")
	b.Wait("document.querySelector('[data-testid=completions] .label')?.textContent === 'down'")
	b.Press("Tab")
	b.Wait("playground.files()['main.conc'].includes('${p.down}')")
	b.Press("F1")
	b.Wait("document.querySelector('[role=tooltip]')?.textContent.includes('down: Int')")
	// keys act on the text that they follow, although the analysis does not have it yet
	for _, typed := range []string{"dow", "w"} {
		b.Eval(fmt.Sprintf("document.querySelector('[data-testid=editor]').setSelectionRange(%d, %d)", utf16(".across}"), utf16("across}")+len("down")))
		b.Type(".")
		b.Wait("document.querySelectorAll('[data-testid=completions] [role=option]').length >= 2")
		b.Eval(`(() => {
			const editor = document.querySelector("[data-testid=editor]");
			document.execCommand("insertText", false, ` + quote(typed) + `);
			return new Promise((done) => setTimeout(() => { // once the list is drawn
				editor.dispatchEvent(new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true }));
				done();
			}));
		})()`)
		want := map[string]string{"dow": "${p.down}", "w": "${p.w   }"}[typed] // no completion begins with w: Tab indents
		b.Wait("playground.files()['main.conc'].includes(" + quote(want) + ")")
	}
}

func TestFormatAndFiles(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "mod other;\nfn main() { println( other::text()) ; }\n", "other.conc": "pub fn text() -> String { \"from other\" }\n"})
	b.Click("=Format")
	b.Wait("playground.files()['main.conc'].includes('println(other::text());')")
	b.Click("@run")
	awaitState(b, "done")
	if got := b.Text("@output"); got != "from other\n" {
		t.Errorf("output = %q", got)
	}
	b.Click("=New file")
	b.Wait("document.activeElement.placeholder === 'name.conc'")
	b.Type("notes.txt")
	b.Press("Enter")
	b.Wait("'notes.txt' in playground.files()")
	replaceText(b, "remember")
	b.Wait("playground.files()['notes.txt'] === 'remember'")
	b.Click("=New file")
	b.Wait("document.activeElement.placeholder === 'name.conc'")
	b.Type("../up.txt")
	b.Press("Enter")
	b.See("it contains ..")
	b.Press("Escape")
	b.Click("=Remove notes.txt")
	b.Wait("!('notes.txt' in playground.files())")
}

func TestGraphAndIR(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn helper() {}\n\nfn main() { helper(); }\n"})
	b.Click("@tab-graph")
	b.Wait("document.querySelectorAll('[data-testid=graph] svg .node').length > 0")
	b.Click("@tab-ir")
	b.Wait("document.querySelector('[data-testid=ir]').textContent.includes('main')")
	b.Eval("playground.put({'main.conc': 'fn main() {'})")
	b.Click("@tab-ir")
	b.See("The program does not compile")
}

func TestEditorIsLeftByEscapeAndTab(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {}\n"})
	b.Click("@editor")
	b.Eval("document.activeElement.setSelectionRange(0, 0)")
	b.Press("Tab")
	b.Wait("playground.files()['main.conc'].startsWith('    fn')")
	b.Press("Escape")
	b.Press("Tab")
	b.Wait("document.activeElement.dataset.testid === 'tab-output'")
}

func TestPageIsAccessible(t *testing.T) {
	browser.Full(t)
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {\n    let x = 1;\n    println(y);\n}\n"})
	b.Wait("document.querySelector('.code-editor .mark')")
	for _, theme := range []browser.Theme{browser.Light, browser.Dark} {
		b.Emulate(browser.Desk, theme)
		for tab := range strings.FieldsSeq("output problems graph ir host agent") {
			b.Click("@tab-" + tab)
			b.Axe()
		}
	}
	narrow := browser.Phone
	narrow.Width = 320
	b.Emulate(narrow, browser.Light)
	b.Axe()
	if got := b.Eval("document.documentElement.scrollWidth"); got != 320.0 {
		t.Errorf("the page is %v pixels wide on a screen of 320", got)
	}
}

func TestExamples(t *testing.T) {
	b, _ := visit(t, nil)
	b.Wait("document.querySelectorAll('[data-testid=examples] option').length > 100")
	if got := b.Eval("playground.files()['main.conc']"); !strings.Contains(fmt.Sprint(got), "fn main()") {
		t.Errorf("the first example is %v", got)
	}
	b.Eval(`(() => { const s = document.querySelector("[data-testid=examples]"); s.value = "pipeline"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	b.Wait("playground.files()['main.conc'].includes('pipeline')")
}
