package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/device"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/seal"
)

// forked is an account with two lists of members. In the first, an owner has removed a phone. In
// the second, the phone, which had the role owner, has added another device in the same place.
type forked struct {
	t                    *testing.T
	common, right, wrong []byte
	cli, host            *seal.Keys
}

func newForked(t *testing.T) *forked {
	t.Helper()
	f := &forked{t: t, cli: seal.NewKeys(), host: seal.NewKeys()}
	phone, stranger := seal.NewKeys(), seal.NewKeys()
	r, recovery := seal.NewAccount(seal.NewRecoveryCode(), time.Now().Add(-time.Hour))
	add := func(r *seal.Roster, by string, with, keys *seal.Keys, kind, id string) seal.Member {
		m := seal.NewMember(keys, r.Account(), kind, id)
		m.User = "ann"
		if kind == seal.Device {
			m.Role, m.Page = seal.Owner, seal.PageCLI
		}
		f.append(r)(r.AddMember(by, with, m, time.Now()))
		return m
	}
	cli := add(r, seal.ByRecovery, recovery, f.cli, seal.Device, "")
	add(r, cli.ID, f.cli, f.host, seal.Host, "desk")
	lost := add(r, cli.ID, f.cli, phone, seal.Device, "")
	f.common = r.Text()
	other := f.parse(f.common)
	f.append(r)(r.RemoveMember(cli.ID, f.cli, lost.ID, time.Now()))
	f.right = r.Text()
	add(other, lost.ID, phone, stranger, seal.Device, "")
	f.wrong = other.Text()
	return f
}

func (f *forked) append(r *seal.Roster) func(line []byte, err error) {
	return func(line []byte, err error) {
		f.t.Helper()
		if err == nil {
			err = r.Append(line)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *forked) parse(text []byte) *seal.Roster {
	f.t.Helper()
	r, err := seal.ParseRoster(text, "", seal.Position{})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// serve plays a server that shows a list of members, and accepts all lines.
func (f *forked) serve(shown *[]byte) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			*shown, _ = io.ReadAll(q.Body)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		lines := bytes.SplitAfter(*shown, []byte("\n"))
		after, _ := strconv.Atoi(q.FormValue("after"))
		_, _ = w.Write(bytes.Join(lines[min(after, len(lines)):], nil))
	}))
	f.t.Cleanup(s.Close)
	return s.URL
}

// TestResolveShowsAllLists checks that a hostile server cannot make the user take its list of
// members without showing the lines that hostd and the command line would forget, whichever of them
// has read which list.
func TestResolveShowsAllLists(t *testing.T) {
	t.Parallel()
	f := newForked(t)
	for name, c := range map[string]struct {
		host, cli, server []byte
		fork              bool
		want              string // in the question
		only              []string
	}{
		"the command line has not read the removal":  {f.right, f.common, f.wrong, true, "The lists differ", []string{"only here: ", "only at the server: "}},
		"the command line has read the server's":     {f.right, f.wrong, f.wrong, true, "The lists differ", []string{"only here: ", "only at the server: "}},
		"hostd has read the server's":                {f.wrong, f.right, f.wrong, true, "The lists differ", []string{"only here: ", "only at the server: "}},
		"the server has lost the removal":            {f.right, f.right, f.common, true, "The server has lost lines", []string{"only here: "}},
		"hostd has not read the removal":             {f.common, f.right, f.right, false, "The lists are equal", nil},
		"the command line has not read hostd's line": {f.right, f.common, f.right, false, "The lists are equal", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newMachine(t)
			state := filepath.Join(h.dir, "state")
			shown := c.server
			h.config(f.serve(&shown))
			for _, err := range []error{sealer.Create(state, f.host, f.parse(c.host)), os.WriteFile(filepath.Join(state, "host-id"), []byte("desk\n"), 0o600)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := device.Create(state, f.cli, f.parse(c.cli)); err != nil {
				t.Fatal(err)
			}
			code := 0
			if c.fork {
				code = 1
			}
			if out := h.do(code, "seal", "status"); strings.Contains(out, "--resolve") != c.fork {
				t.Errorf("seal status = %s", out)
			}
			if forgets := c.want == "The lists differ"; forgets {
				if out := h.do(2, "seal", "status", "--resolve", "--yes"); !strings.Contains(out, "would forget lines") {
					t.Errorf("--resolve --yes = %s", out)
				}
				if out := h.do(2, "devices", "remove", "phone", "--yes"); !strings.Contains(out, "two lists") && !strings.Contains(out, "roster_fork") {
					t.Errorf("devices remove = %s", out)
				}
			}
			s := h.screen("seal", "status", "--resolve")
			s.waitFor("[y/N]", 1)
			s.typeText("n\r")
			s.waitExit(1)
			for _, want := range append(c.only, c.want) {
				if !strings.Contains(s.content(), want) {
					t.Errorf("--resolve does not show %q:\n%s", want, s.content())
				}
			}
			if text, _ := os.ReadFile(filepath.Join(sealer.Dir(state), "roster.ndjson")); !bytes.Equal(text, c.host) {
				t.Error("hostd's list was changed")
			}
		})
	}
}
