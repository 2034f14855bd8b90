package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fleetProgram opens workspaces, changes and commits them, and merges them in a queue, in which two
// conflict, and one alone with a gate that is a function.
const fleetProgram = `use std::work;
use std::merge;
fn change(round: String, n: Int, file: String) -> Result<work::Workspace, Error> {
    let ws = work::open("w${round}-${n}", base: "main")?;
    ws.run(["sh", "-c", "echo ${round}-${n} > ${file}"])?;
    ws.commit("Change ${round}-${n}")?;
    Ok(ws)
}
fn main() -> Result<Nil, Error> {
    let round = std::env::args()[0];
    let q = merge::queue("main")?;
    q.submit(change(round, 1, "one-${round}")?)?;
    q.submit(change(round, 2, "same-${round}")?)?;
    q.submit(change(round, 3, "same-${round}")?)?;
    let report = q.run(resolve: |p| {
        p.workspace.run(["sh", "-c", "echo both > same-${round}"])?;
        Ok(true)
    })?;
    println("queue", report.merged.map(|c| c.id).sort(), report.failed.len());
    let alone = change(round, 4, "four-${round}")?;
    let done = alone.merge("main", gate: |w| if w.run(["test", "-e", "one-${round}"])?.exit_code == 0 { Ok(nil) } else { Err(RuntimeError::new("lost")) })?;
    println("alone", done.changes);
    alone.remove(force: true)?;
    println("end");
    Ok(nil)
}
`

// TestFleetKilled kills a durable run when it calls git, until it has ended: its workspaces and its
// merges. Each change lands once, nothing is printed twice, nothing remains, and the user's
// checkout is unchanged. CONCERTO_FLEET_KILLS sets the number of runs.
func TestFleetKilled(t *testing.T) {
	r, runs := newKilledRepository(t, "CONCERTO_FLEET_KILLS", 2)
	git := r.git
	r.write("main.conc", fleetProgram)
	r.write(".gitignore", ".concerto/\njob*\n")
	r.write("base", "base\n")
	r.write("Concerto.toml", "[project]\nname = \"p\"\nentry = \"main.conc\"\n[permissions]\nrun = [\"sh\", \"test\"]\n[run.unknown]\ncommand = \"retry\"\n[workspace]\n[merge.main]\ngate = [[\"test\", \"-e\", \"base\"]]\n")
	r.commit()
	git("checkout", "-q", "--detach")
	r.checkCheckout()
	for i := range runs {
		round := strconv.Itoa(i)
		job := "job" + round
		var out strings.Builder
		for attempt := 0; ; attempt++ {
			args := []string{"run", "--emit", "ndjson", "--journal", job, "main.conc", "--", round}
			if begun, _ := os.ReadFile(filepath.Join(r.dir, job, "journal-000001.ndjson")); bytes.Contains(begun, []byte("\n")) { // it has a start record
				args = []string{"runs", "resume", "--emit", "ndjson", job}
			} else if err := os.RemoveAll(filepath.Join(r.dir, job)); err != nil {
				t.Fatal(err)
			}
			c := r.command(args...)
			var problems strings.Builder
			c.Stdout, c.Stderr = &out, &problems
			most := 15 // calls of git
			if attempt == 10 {
				most = 0
			}
			if _, err := r.run(c, most); err == nil {
				break
			} else if c.ProcessState.ExitCode() >= 0 {
				t.Fatalf("run %d, attempt %d: %v\n%s\n%s", i, attempt, err, out.String(), problems.String())
			}
		}
		want := `queue ["w` + round + `-1","w` + round + `-2","w` + round + `-3"] 0` + "\nalone [\"w" + round + "-4\"]\nend\n"
		printed, landed := "", ""
		last := map[bool]string{} // last print and last emit: at the moment of a kill, one may be printed twice
		for line := range strings.Lines(out.String()) {
			line = asText(line) + "\n"
			isEmit := strings.HasPrefix(line, "[")
			if line == last[isEmit] {
				continue
			}
			switch last[isEmit] = line; {
			case strings.HasPrefix(line, "[merge:landed] "):
				landed += line
			case !isEmit:
				printed += line
			}
		}
		if printed != want {
			t.Fatalf("run %d printed\n%swant\n%s", i, printed, want)
		}
		for n := 1; n <= 4; n++ {
			if got := strings.Count(landed, `"w`+round+"-"+strconv.Itoa(n)+`"`); got != 1 {
				t.Fatalf("run %d: the landing of change %d was emitted %d times:\n%s", i, n, got, out.String())
			}
			if got := git("log", "--format=%s", "--grep=^Concerto-Change: w"+round+"-"+strconv.Itoa(n)+"$", "main"); strings.Count(got, "Merge w") != 1 {
				t.Fatalf("run %d: change %d has landed as %q", i, n, got)
			}
		}
		if got := git("show", "main:same-"+round) + git("show", "main:one-"+round) + git("show", "main:four-"+round); got != "both"+round+"-1"+round+"-4" {
			t.Fatalf("run %d: the branch contains %s", i, got)
		}
		for ref := range strings.FieldsSeq(git("for-each-ref", "--format=%(refname)", "refs/heads/concerto", "refs/concerto")) {
			if !strings.Contains(ref, "-fix-") { // the work of a resolution that was interrupted remains
				t.Fatalf("run %d: %s remains", i, ref)
			}
		}
	}
	r.checkCheckout()
	for commit := range strings.FieldsSeq(git("rev-list", "--first-parent", "main")) {
		git("cat-file", "-e", commit+":base")
	}
}
