package guard

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
)

// Probe is what the hook does about a probe, which is a harmless call: a command that prints a
// line, or the creation of a file in a directory with a name of its own. `guard check` lets the
// agent's model make such calls.
type Probe string

// The probes.
const (
	ProbeAllow Probe = "allow" // the call is allowed
	ProbeDeny  Probe = "deny"  // the call is denied
	ProbeCrash Probe = "crash" // the hook ends by a signal
	ProbeHang  Probe = "hang"  // the hook does not decide
	ProbeCut   Probe = "cut"   // the call is denied, and the JSON of the answer is cut off
	ProbeFile  Probe = "file"  // the file is not created
)

const probeName = "concerto-guard-probe-"

// Command returns the command of a probe. nonce consists of 32 hexadecimal digits.
func (p Probe) Command(nonce string) string {
	return `printf 'ran %s\n' ` + probeName + nonce + "-" + string(p)
}

// Output returns what the command prints.
func (p Probe) Output(nonce string) string { return "ran " + probeName + nonce + "-" + string(p) }

// ProbedFile returns the file of the probe ProbeFile.
func ProbedFile(dir, nonce string) string {
	return filepath.Join(dir, probeName+nonce, "file")
}

var probeCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^printf 'ran %s\\n' ` + probeName + `[0-9a-f]{32}-(allow|deny|crash|hang|cut)$`)
})

var probeFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + probeName + `[0-9a-f]{32}$`) })

// probe returns the probe that a call is, or "".
func (c *Call) probe() Probe {
	if !strings.Contains(string(c.Args), probeName) {
		return ""
	}
	if m := probeCommand().FindStringSubmatch(c.request.Command); m != nil {
		return Probe(m[1])
	}
	for _, path := range append(fields(c.request.Command), c.request.Paths...) {
		if slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), probeFolder().MatchString) {
			return ProbeFile
		}
	}
	return ""
}

// isHarmless reports whether the call only prints a line of a probe.
func (c *Call) isHarmless() bool {
	probe := c.probe()
	return probe != "" && probe != ProbeFile
}

// decide returns the decision about a probe.
func (p Probe) decide() Decision {
	if p == ProbeAllow {
		return Decision{Verdict: hostpolicy.Allow, Reason: "built in: a probe of guard check"}
	}
	return deny("built in: a probe of guard check, which must be refused")
}

// fail makes the hook fail as a probe requires.
func (p Probe) fail(late *time.Timer) {
	switch p {
	case ProbeCrash:
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill() // if it fails, the call is denied, which is no crash
		}
	case ProbeHang:
		late.Reset(time.Second)
		select {}
	}
}
