package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/browser"
)

// shop makes a repository in which something is changed, and not committed.
func shop(h *host) (dir string) {
	h.t.Helper()
	dir = filepath.Join(h.dir, "shop")
	h.write("shop/checkout/total.conc", "fn total() {\n  emit(\"sum\", 1);\n}\n")
	h.write("shop/<b>bold<b>.txt", "<script>document.title = 'harmed'</script>\n")
	h.write("shop/logo.bin", "\x00\xff\xfe")
	h.write("secret.txt", "s3cret\n")
	if err := os.Symlink("../secret.txt", filepath.Join(dir, "out")); err != nil {
		h.t.Fatal(err)
	}
	h.git("init", "-q", "-b", "main")
	h.git("add", ".")
	h.git("commit", "-q", "-m", "begin")
	h.write("shop/checkout/total.conc", "fn total() {\n  emit(\"sum\", 2);\n}\n")
	return dir
}

func (h *host) write(name, text string) {
	h.t.Helper()
	name = filepath.Join(h.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) git(args ...string) {
	h.t.Helper()
	c := exec.Command("git", append([]string{"-C", filepath.Join(h.dir, "shop"), "-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	c.Env = append(os.Environ(), "HOME="+h.dir, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := c.CombinedOutput(); err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// enter opens the page of a server whose owner is ann, and logs her in.
func enter(t *testing.T, d *daemon, at string) *browser.Tab {
	t.Helper()
	b := browser.Open(t)
	b.Expect("401")
	b.Go(d.url + "/" + at)
	b.Click("@login-user")
	b.Type("ann")
	b.Press("Tab")
	b.Type("correct horse")
	b.Press("Enter")
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'online'")
	return b
}

// decide decides the card that is shown, when it takes decisions.
func decide(b *browser.Tab, decision string) {
	b.Wait("document.querySelector('[data-testid=" + decision + "]').ariaDisabled === 'false'")
	b.Click("@" + decision)
}

// TestFilesAndDiff: what a run has changed is looked at, its files are read, searched and changed, by a real host; what
// another has changed meanwhile is not written over unseen, and what leads out of the run's directory is not shown.
func TestFilesAndDiff(t *testing.T) {
	t.Parallel()
	browser.Full(t)
	browser.Need(t)
	h := newHost(t)
	dir := shop(h)
	hash := run(t, h.dir, "correct horse\n", "token", "hash-password")
	env := []string{"XDG_CONFIG_HOME=" + h.dir, "LOCAL_UNIX_SOCKET=" + filepath.Join(h.dir, "s"), "HOST_ID=desk", "ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash}
	d := start(t, h.dir, env, "--with-hostd")
	c := h.command("run", "--detach", "--", "cat")
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	b := enter(t, d, "#/runs/"+id)
	diffOf(h, b)
	filesOf(h, b)
	editIn(h, b)
	b.Eval("location.hash = '#/hosts/desk'")
	b.Wait("__see.text('main table').includes('git')")
	b.Click("=Show the last lines")
	b.Wait("!__see.text('main').includes('Loading')")
	b.Axe()
	b.Eval("location.hash = '#/start'")
	b.Wait("__see.all('@start-tool').length === 1")
	b.Axe()
	b.Expect("ERR_CONNECTION_REFUSED") // the page looks for its server
	d.stop()
}

func diffOf(h *host, b *browser.Tab) {
	b.Click("=Diff")
	b.Wait("__see.text('main').includes('modified:   checkout/total.conc') && __see.text('main').includes('emit(\"sum\", 2)')")
	b.Axe()
	h.write("shop/checkout/total.conc", "fn total() {\n  emit(\"sum\", 3);\n}\n")
	b.Click("=Look again")
	b.See(`emit("sum", 3)`)
	h.git("commit", "-q", "-a", "-m", "three")
	b.Click("=Look again")
	b.See("nothing to commit")
}

func filesOf(h *host, b *browser.Tab) {
	b.Click("=Files")
	b.Wait("__see.text('.files-list').includes('checkout/') && __see.text('.files-list').includes('links are not followed')")
	if text := b.Text(".files-list"); !strings.Contains(text, "<b>bold<b>.txt") {
		h.t.Errorf("the files are %s", text)
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
			h.t.Errorf("%s is shown as %s", out, text)
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
		b.Wait("__see.text('main').includes('1 lines have it') || __see.text('main').includes('1 line has it')")
		b.Click("=checkout/total.conc:2\n" + `emit("sum", 3);`)
	}
	b.Wait("__see.text('.source').includes('emit(\"sum\", 3)')")
	b.Axe()
}

func editIn(h *host, b *browser.Tab) {
	b.Click("@edit")
	b.Eval("document.querySelector('[data-testid=editor]').select()")
	b.Type("fn total() {}")
	b.Click("@save")
	b.Wait("__see.text('@approval-card').includes('fn total() {}')")
	b.Axe()
	h.write("shop/checkout/total.conc", "fn total() { return 4 }\n")
	decide(b, "approve")
	b.See("The file has changed meanwhile: nothing was written.")
	b.See("Your text is kept.")
	b.Click("=As it is now")
	b.See("return 4")
	b.Click("=Write over it")
	b.Click("@save")
	b.Wait("__see.text('@approval-card').includes('fn total() {}')")
	decide(b, "deny")
	b.See("It was denied: nothing was written.")
	if text, err := os.ReadFile(filepath.Join(h.dir, "shop/checkout/total.conc")); err != nil || string(text) != "fn total() { return 4 }\n" {
		h.t.Errorf("the file has %q, %v", text, err)
	}
	b.Click("@save")
	b.Wait("__see.text('@approval-card').includes('fn total() {}')")
	decide(b, "approve")
	b.Wait("__see.all('@edit').length === 1 && __see.text('.source').includes('fn total() {}')")
	if text, err := os.ReadFile(filepath.Join(h.dir, "shop/checkout/total.conc")); err != nil || string(text) != "fn total() {}" {
		h.t.Errorf("the file has %q, %v", text, err)
	}
}
