package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/tools/browser"
)

// shop creates a git repository with an uncommitted change and returns its path.
func shop(r *relay) (dir string) {
	r.t.Helper()
	dir = filepath.Join(r.dir, "shop")
	r.write("shop/checkout/total.conc", "fn total() {\n  emit(\"sum\", 1);\n}\n")
	r.write("shop/<b>bold<b>.txt", "<script>document.title = 'harmed'</script>\n")
	r.write("shop/logo.bin", "\x00\xff\xfe")
	r.write("secret.txt", "s3cret\n")
	if err := os.Symlink("../secret.txt", filepath.Join(dir, "out")); err != nil {
		r.t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "begin")
	r.write("shop/checkout/total.conc", "fn total() {\n  emit(\"sum\", 2);\n}\n")
	return dir
}

func (r *relay) write(name, text string) {
	r.t.Helper()
	name = filepath.Join(r.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *relay) git(args ...string) {
	r.t.Helper()
	c := exec.Command("git", append([]string{"-C", filepath.Join(r.dir, "shop"), "-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	c.Env = append(os.Environ(), "HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// enter opens the page and logs the owner in.
func (r *relay) enter(at string) *browser.Tab {
	r.t.Helper()
	b := browser.Open(r.t)
	b.Expect("401")
	b.Go(r.url + "/" + at)
	login(b)
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'online'")
	return b
}

// decide makes a decision on the approval card as soon as the card accepts decisions.
func decide(b *browser.Tab, decision string) {
	b.Wait("document.querySelector('[data-testid=" + decision + "]').ariaDisabled === 'false'")
	b.Click("@" + decision)
}

// TestFilesAndDiff reads, searches, diffs and writes the files of a run through a real host. A file
// that was changed elsewhere in the meantime is not overwritten, and paths outside of the run's
// directory are refused.
func TestFilesAndDiff(t *testing.T) {
	r := newRelay(t)
	dir := shop(r)
	hash := r.do(0, "correct horse\n", "token", "hash-password")
	r.serve([]string{"ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash})
	c := r.command("run", "--detach", "--", "cat")
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	b := r.enter("#/runs/" + id)
	diffOf(r, b)
	filesOf(r, b)
	editIn(r, b)
	b.Eval("location.hash = '#/hosts/desk'")
	b.Wait("__see.text('main table').includes('git')")
	b.Click("=Show the last lines")
	b.Wait("!__see.text('main').includes('Loading')")
	b.Axe()
	b.Eval("location.hash = '#/start'")
	b.Wait("__see.all('@start-tool').length === 1")
	b.Axe()
	b.Expect("ERR_CONNECTION_REFUSED") // the page reconnects while the server is down
	r.stop()
}

func diffOf(r *relay, b *browser.Tab) {
	b.Click("=Diff")
	b.Wait("__see.text('main').includes('modified:   checkout/total.conc') && __see.text('main').includes('emit(\"sum\", 2)')")
	b.Axe()
	r.write("shop/checkout/total.conc", "fn total() {\n  emit(\"sum\", 3);\n}\n")
	b.Click("=Refresh")
	b.See(`emit("sum", 3)`)
	r.git("commit", "-q", "-a", "-m", "three")
	b.Click("=Refresh")
	b.See("nothing to commit")
}

func filesOf(r *relay, b *browser.Tab) {
	b.Click("=Files")
	b.Wait("__see.text('.files-list').includes('checkout/') && __see.text('.files-list').includes('not followed')")
	if text := b.Text(".files-list"); !strings.Contains(text, "<b>bold<b>.txt") {
		r.t.Errorf("listed files = %s", text)
	}
	b.Axe()
	b.Click(`a[href*="bold"]`)
	b.See("<script>document.title = 'harmed'</script>")
	b.Click("=files")
	b.Click(`a[href$="file=logo.bin"]`)
	b.Wait("__see.text('.failed').includes('not UTF-8') || __see.text('.failed').toLowerCase().includes('text')")
	for _, out := range []string{"out", "../secret.txt", "/etc/passwd"} {
		b.Eval("location.hash = location.hash.split('?')[0] + '?file=" + strings.ReplaceAll(out, "/", "%2F") + "'")
		b.Wait("__see.text('.crumbs').endsWith('" + filepath.Base(out) + "') && __see.text('.failed').length > 0")
		if text := b.Text("main"); strings.Contains(text, "s3cret") || strings.Contains(text, "root:") || !strings.Contains(text, "run's directory") {
			r.t.Errorf("page for %s shows %s", out, text)
		}
	}
	b.Click("=files")
	b.Press("/")
	b.Type(`emit\(`)
	b.Press("Enter")
	if _, err := exec.LookPath("rg"); err != nil {
		b.Wait("__see.text('.failed').includes('rg')")
		b.Eval("location.hash = location.hash.split('?')[0] + '?file=checkout%2Ftotal.conc'")
	} else {
		b.Wait("__see.text('main').includes('1 matching line')")
		b.Click("=checkout/total.conc:2\n" + `emit("sum", 3);`)
	}
	b.Wait("__see.text('.source').includes('emit(\"sum\", 3)')")
	b.Axe()
}

func editIn(r *relay, b *browser.Tab) {
	b.Click("@edit")
	b.Eval("document.querySelector('[data-testid=editor]').select()")
	b.Type("fn total() {}")
	b.Click("@save")
	b.Wait("__see.text('@approval-card').includes('fn total() {}')")
	b.Axe()
	r.write("shop/checkout/total.conc", "fn total() { return 4 }\n")
	decide(b, "approve")
	b.See("The file has changed since you opened it. Nothing was written.")
	b.See("Your text is still here.")
	b.Click("=Current content")
	b.See("return 4")
	b.Click("=Overwrite")
	b.Click("@save")
	b.Wait("__see.text('@approval-card').includes('fn total() {}')")
	decide(b, "deny")
	b.See("The write was denied.")
	if text, err := os.ReadFile(filepath.Join(r.dir, "shop/checkout/total.conc")); err != nil || string(text) != "fn total() { return 4 }\n" {
		r.t.Errorf("content of the file = %q, error %v", text, err)
	}
	b.Click("@save")
	b.Wait("__see.text('@approval-card').includes('fn total() {}')")
	decide(b, "approve")
	b.Wait("__see.all('@edit').length === 1 && __see.text('.source').includes('fn total() {}')")
	if text, err := os.ReadFile(filepath.Join(r.dir, "shop/checkout/total.conc")); err != nil || string(text) != "fn total() {}" {
		r.t.Errorf("content of the file = %q, error %v", text, err)
	}
}
