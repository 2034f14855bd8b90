package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
)

// authorizations contains the servers of scripts that `oauth start` has started.
var authorizations sync.Map

// oauth controls an MCP server that requires a login. `oauth start [BEHAVIOUR…]` starts it and sets
// LLM_URL; `oauth set BEHAVIOUR…` and `oauth unset BEHAVIOUR…` change it; `oauth revoke` makes its
// access tokens invalid; `oauth count KIND N` checks the number of requests of a kind.
func oauth(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: oauth start|set|unset|revoke|count")
	}
	if args[0] == "start" {
		a := testmcp.StartAuthorization(args[1:]...)
		authorizations.Store(ts, a)
		ts.Defer(func() {
			authorizations.Delete(ts)
			a.CloseClientConnections()
			a.Close()
		})
		ts.Setenv("LLM_URL", a.URL+"/mcp")
		return
	}
	v, ok := authorizations.Load(ts)
	if !ok {
		ts.Fatalf("oauth %s before oauth start", args[0])
	}
	a := v.(*testmcp.Authorization)
	switch args[0] {
	case "set", "unset":
		for _, b := range args[1:] {
			a.Set(b, args[0] == "set")
		}
	case "revoke":
		a.Revoke()
	case "count":
		if n, err := strconv.Atoi(args[2]); err != nil || a.Count(args[1]) != n {
			ts.Fatalf("%d requests of the kind %s, want %s", a.Count(args[1]), args[1], args[2])
		}
	default:
		ts.Fatalf("unknown command oauth %s", args[0])
	}
}

// follow runs a command and plays the browser for it: it requests the first address that the
// command prints, and enters the address to which it is redirected.
func follow(args []string) int {
	c := exec.Command(args[0], args[1:]...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := c.Start(); err != nil {
		panic(err)
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	done := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "http") || done {
			fmt.Println(line)
			continue
		}
		done = true
		fmt.Println("ADDRESS")
		resp, err := browser.Get(line)
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(os.Stderr, resp.Body)
		_ = resp.Body.Close()
		if to := resp.Header.Get("Location"); to != "" {
			fmt.Fprintln(in, to)
		}
	}
	_ = c.Wait() // the exit code is returned
	return c.ProcessState.ExitCode()
}

// browse is a browser: it requests an address and prints the page to which it is redirected.
func browse(address string) int {
	resp, err := http.Get(address)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(os.Stderr, resp.Body)
	return 0
}
