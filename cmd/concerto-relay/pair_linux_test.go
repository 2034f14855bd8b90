package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pairing is a running command pair, which waits for an owner's confirmation. The exported fields
// are decoded from the command's output.
type pairing struct {
	h          *machine
	cmd        *exec.Cmd
	out        *bufio.Reader
	Code, Link string
	Print      string `json:"fingerprint"`
	ExpiresIn  int64  `json:"expires_in"`
	MachineID  string `json:"host_id"`
}

// pair starts the command pair and reads the code that it prints.
func (h *machine) pair(args ...string) *pairing {
	h.t.Helper()
	p := &pairing{h: h, cmd: h.command(append([]string{"pair", "--format", "ndjson", "--state", "state"}, args...)...)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	p.out = bufio.NewReader(out)
	p.read()
	return p
}

func (p *pairing) read() {
	p.h.t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, p)
	}
	if err != nil {
		p.h.t.Fatalf("invalid output of pair %s: %v", line, err)
	}
}

// wait waits until the command reports that the machine is paired, and returns the machine's id.
func (p *pairing) wait() string {
	p.h.t.Helper()
	p.read()
	if err := p.cmd.Wait(); err != nil {
		p.h.t.Fatal(err)
	}
	return p.MachineID
}

type machineSeen struct {
	ID, Name, Auth string
	Online         bool
}

// machines requests the server's list of machines until want returns true for it.
func (d *daemon) machines(token string, want func([]machineSeen) bool) []machineSeen {
	d.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		var all []machineSeen
		d.ask("GET", "/hosts", token, "", &all)
		if want(all) {
			return all
		}
		if time.Now().After(end) {
			d.Fatalf("timeout: the server's machines are %+v", all)
		}
		time.Sleep(20 * time.Millisecond) // polls again
	}
}

// TestPair pairs a machine that is already connected by a token: it retains its
// id and runs, and reconnects with its key. It also pairs a new machine before its hostd starts:
// hostd then connects to the server without further settings.
func TestPair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, dir, nil, "--admin", "ann", "--admin-password-file", "password")
	token := d.login("ann", "correct horse")
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	over := []string{"--server", d.url, "--token-file", "token"}

	h := newMachine(t, "--server", d.url)
	h.start()
	was := d.machines(token, func(all []machineSeen) bool { return len(all) == 1 && all[0].Online })[0]
	if was.Auth != "token" {
		t.Errorf("machine before the pairing = %+v, want it to authenticate by token", was)
	}
	p := h.pair("--server", d.url, "--name", "desk")
	if p.Link != d.url+"/#/hosts/pair?code="+p.Code || !regexp.MustCompile(`^SHA256:.{43}$`).MatchString(p.Print) || p.ExpiresIn != 600 {
		t.Errorf("output of pair = %+v", p)
	}
	if got := run(t, dir, "", append([]string{"pair", "confirm", p.Code}, over...)...); got != "desk ("+p.Print+") is paired as "+was.ID {
		t.Error(got)
	}
	if id := p.wait(); id != was.ID {
		t.Errorf("id of the paired machine = %s, want %s", id, was.ID)
	}
	d.machines(token, func(all []machineSeen) bool {
		return len(all) == 1 && all[0] == machineSeen{was.ID, "desk", "key", true}
	})
	if info, err := os.Stat(filepath.Join(h.dir, "state", "host-key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file = %v, error = %v; want mode 0600", info, err)
	}
	if got := h.do(0, "doctor", "--state", "state", "--server", d.url); !strings.Contains(got, "ok    auth        by its key ("+p.Print+"), as "+was.ID) {
		t.Error(got)
	}
	h.do(0, "run", "--", "true")
	for {
		var runs []struct{ Status string }
		if d.ask("GET", "/runs?status=exited", token, "", &runs); len(runs) == 1 {
			break
		}
		time.Sleep(20 * time.Millisecond) // polls again
	}
	h.kill()
	h.start() // hostd must use the key, although a token is set too
	d.machines(token, func(all []machineSeen) bool { return all[0].Online })

	fresh := newMachine(t)
	p = fresh.pair("--server", strings.Replace(d.url, "http", "ws", 1))
	run(t, dir, "", "pair", "confirm", strings.ToLower(p.Code), "--db", "sqlite:relay.db")
	id := p.wait()
	if !regexp.MustCompile(`^host_[A-Z2-7]{26}$`).MatchString(id) {
		t.Error(id)
	}
	fresh.start()
	d.machines(token, func(all []machineSeen) bool {
		return len(all) == 2 && all[0].Auth == "key" && all[1].Auth == "key" && all[0].Online && all[1].Online
	})
	d.stop()
	if log := d.output(); strings.Contains(log, p.Code) || strings.Contains(log, "t0ken-of-the-host") {
		t.Errorf("the log contains a secret: %s", log)
	}
}
