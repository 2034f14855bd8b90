package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/markers"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// marker is in the command line, in the prompt and in the output of a run.
const marker = markers.Text

const asksMarked = `printf '` + marker + `, go on? [y/N] '; read x; echo "said $x to ` + marker + `"; exit 4`

// TestSealedEvents seals the events of runs. A device of the account reads and decides them as
// before. No other command line does, and the server's database has nothing of them.
func TestSealedEvents(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.config(r.server.url)
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code") // hostd runs, and seals from now on

	run := r.waitForRun(r.detached(asksMarked))
	q := r.request(run, marker+", go on?")
	list := append([]string{"runs"}, r.at...)
	r.eventually("the request in the list", func() (string, bool) {
		out := r.do(0, append(list, "--format", "ndjson")...)
		return out, strings.Contains(out, `"prompt":"`+marker+`, go on?`) && strings.Contains(out, `"tool":"printf"`)
	})
	if text, err := r.command(append(list, "--state", "none")...).CombinedOutput(); err != nil {
		t.Errorf("runs: %v", err)
	} else if out := string(text); !strings.Contains(out, "note: the run is sealed, and this command line is no device of its account") || !strings.Contains(out, "asks: (sealed)") || strings.Contains(out, marker) {
		t.Errorf("the list of a command line that is no device = %s", out)
	}
	approve := append([]string{"approve", run, q.RequestID, "--text", "for " + marker}, r.at...)
	if out := r.do(1, append(approve, "--state", "none")...); !strings.Contains(out, "the run is sealed") {
		t.Errorf("approval without keys = %s", out)
	}
	r.eventually("the approval", func() (string, bool) {
		c := r.command(approve...)
		out, err := c.CombinedOutput() // before the machine has confirmed the request, it fails
		return string(out), err == nil || !strings.Contains(string(out), "the machine has not confirmed the request yet")
	})
	if out := r.do(2, approve...); !strings.Contains(out, "is not open") {
		t.Errorf("the same approval again = %s", out)
	}
	if out := r.do(4, append([]string{"attach", run}, r.at...)...); !strings.Contains(out, "said y to "+marker) {
		t.Errorf("output of the run = %q", out)
	}
	r.decisions(run)
	if out := r.do(1, append([]string{"attach", run, "--state", "none"}, r.at...)...); strings.Contains(out, marker) || !strings.Contains(out, "the run is sealed") {
		t.Errorf("output of the run without keys = %q", out)
	}

	third := r.waitForRun(r.detached(`printf 'Name? '; read x; echo "$x was typed"; exit 3`))
	screen := r.screen(append([]string{"attach", third}, r.at...)...)
	screen.waitFor("Name?", 1)
	screen.typeText(marker + "\r")
	screen.waitExit(3)
	if !strings.Contains(screen.content(), marker+" was typed") {
		t.Errorf("the sealed keys did not arrive: %q", screen.content())
	}

	live := r.waitForRun(r.detached("read x"))
	if out := r.do(2, "seal", "leave", "--yes"); !strings.Contains(out, "run "+live+" is sealed, and needs the keys of the account") {
		t.Errorf("seal leave with a live run = %s", out)
	}
	r.stop(live)
	r.until(live, protocol.RunExited, "")

	r.kill()
	r.start()
	out := r.do(0, "seal", "rotate")
	if epoch := regexp.MustCompile(`^hostd refuses what was signed before; links that share runs have ended; epoch (\d+) has begun\n$`).FindStringSubmatch(out); epoch == nil {
		t.Errorf("seal rotate = %s", out)
	} else if epoch := epoch[1]; !strings.Contains(r.do(0, "seal", "status"), "\nepoch    "+epoch+" of the keys of this machine\n") {
		t.Errorf("seal status does not show epoch %s", epoch)
	}
	second := r.waitForRun(r.detached(asksMarked))
	q = r.request(second, marker+", go on?")
	r.do(0, "deny", second, q.RequestID) // on this machine
	if out := r.do(4, append([]string{"attach", second}, r.at...)...); !strings.Contains(out, "said n to "+marker) {
		t.Errorf("output of the second run = %q", out)
	}

	r.recovered(run)

	r.serverHasNothing(marker)
}

// decisions lists the decision on a request of a sealed run. Its content is there only for a device
// of the account, which also selects by it.
func (r *remoteServer) decisions(run string) {
	r.t.Helper()
	list := append([]string{"decisions", "--run", run}, r.at...)
	for more, want := range map[string]string{
		"": `(?s)^WHEN.*\n\S+ \S+ +approved +\S+ +` + run + ` +.*` + marker + `, go on\?.*\n$`, "--decision deny": `^no decisions\n$`, "--decision approve --limit 1": marker,
		"--by someone": `^no decisions\n$`, "--state none": `sealed +- +` + run + ` +\(sealed\)\n`, "--format json": `"title":".*` + marker,
	} {
		args := append(list[:len(list):len(list)], strings.Fields(more)...)
		if out := r.do(0, args...); !regexp.MustCompile(want).MatchString(out) {
			r.t.Errorf("decisions %s = %s, want %s", more, out, want)
		}
	}
}

// serverHasNothing checks that the server's database and log contain texts in no form.
func (r *remoteServer) serverHasNothing(texts ...string) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "relay.db*"))
	if err != nil || len(files) == 0 {
		r.t.Fatal(files, err)
	}
	has := map[string][]byte{"the log": []byte(r.server.output())}
	for _, file := range files {
		if has[file], err = os.ReadFile(file); err != nil {
			r.t.Fatal(err)
		}
	}
	for name, data := range has {
		for _, text := range texts {
			if found := markers.In(data, text); len(found) > 0 {
				r.t.Errorf("%s has %q, %s", name, text, found)
			}
		}
	}
}

// recovered loses the machine and the command line, and reads a run with the recovery code. Another
// device then reads it, too.
func (r *remoteServer) recovered(run string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, "state", "seal", "cli")); err != nil {
		r.t.Fatal(err)
	}
	if out := r.do(0, "seal", "recover", "--code-file", "code"); !regexp.MustCompile(`(?m)^keys +of desk: its runs of \d epochs can be read$`).MatchString(out) {
		r.t.Errorf("seal recover = %s", out)
	}
	r.kill()
	if out := r.do(4, append([]string{"attach", run}, r.at...)...); !strings.Contains(out, "said y to "+marker) {
		r.t.Errorf("output of the run after the recovery = %q", out)
	}
	r.start()
	token := r.server.login("ann", "correct horse")
	p, l := r.addPhone(token)
	if out := r.do(0, "devices", "grant", "Ann's phone"); !strings.HasPrefix(out, "sent the keys of 1 of the account's machines to ") {
		r.t.Errorf("devices grant = %s", out)
	}
	if out := r.do(2, "devices", "grant", "desk"); !strings.Contains(out, "is no device") {
		r.t.Errorf("devices grant for a machine = %s", out)
	}
	id := p.keys.Public().DeviceID()
	text := r.server.text(r.t, "/seal/"+l.Account+"/history?host=desk&device="+id, token)
	epochs, err := p.roster.OpenHistory([]byte(strings.TrimSuffix(text, "\n")), "desk", id, p.keys)
	if err != nil || len(epochs) == 0 {
		r.t.Errorf("history for the phone = %d epochs, %v", len(epochs), err)
	}
}
