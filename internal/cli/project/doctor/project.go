package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

func (d *doctor) manifestCheck() result {
	if d.manifest == nil {
		return result{}
	}
	name := d.manifest.File.Name
	for _, x := range d.found.Sorted() {
		if x.Severity() == diag.Error {
			return result{Status: fail, Detail: fmt.Sprintf("%s:%s: %s: %s", name, d.manifest.File.Position(x.Span.Start), x.Info.Code, x.Message), Do: "correct it; `concerto check` shows all errors"}
		}
	}
	return result{Status: ok, Detail: name}
}

// lock checks that the lock file matches the manifest, and that no package was changed.
func (d *doctor) lock() result {
	if len(d.manifest.Dependencies) == 0 {
		return result{}
	}
	p, err := packages.Open(d.root)
	if err != nil {
		return result{Status: fail, Detail: err.Error()}
	}
	f := d.console.Fetcher(true)
	f.Progress = nil
	all, err := (&packages.Resolver{Project: p, Fetcher: f}).Verify(d.ctx, false, false)
	var line *pkg.OutOfLineError
	var lock *pkg.LockError
	var refused *pkg.Error
	switch {
	case errors.As(err, &line):
		return result{Status: fail, Detail: line.Message, Do: "run `concerto update --lock`"}
	case errors.As(err, &lock):
		return result{Status: fail, Detail: lock.Error(), Do: lock.Hint}
	case errors.As(err, &refused):
		return result{Status: fail, Detail: refused.Message, Do: refused.Hint}
	case err != nil:
		return result{Status: fail, Detail: err.Error(), Do: "`concerto check` shows the errors"}
	}
	missing := 0
	for _, v := range all {
		switch v.Status {
		case packages.Modified:
			return result{Status: fail, Detail: v.Name + " was changed after it was fetched", Do: "run `concerto verify --repair`"}
		case packages.Missing:
			missing++
		}
	}
	if missing > 0 {
		return result{Status: warn, Detail: fmt.Sprintf("%d of %s not in the cache", missing, console.Count(len(all), "package")), Do: "run `concerto check`, which fetches them"}
	}
	return result{Status: ok, Detail: "in line, with " + console.Count(len(all), "package") + " unchanged"}
}

// permissions checks that the paths in [permissions] exist.
func (d *doctor) permissions() result {
	if d.manifest.Permissions == nil {
		return result{}
	}
	var missing []string
	for _, p := range d.manifest.Permissions.FS {
		if !filepath.IsAbs(p) {
			p = filepath.Join(d.root, filepath.FromSlash(p))
		}
		if _, err := os.Stat(p); err != nil {
			missing = append(missing, filepath.ToSlash(d.console.Relative(p)))
		}
	}
	if len(missing) > 0 {
		return result{Status: warn, Detail: "these paths do not exist: " + strings.Join(missing, ", "), Do: "create them, or correct `fs` in [permissions]"}
	}
	return result{Status: ok, Detail: console.Count(len(d.manifest.Permissions.FS), "path") + " found"}
}

// all makes a check for each of n items at the same time.
func all(n int, check func(i int) result) []result {
	out := make([]result, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i] = check(i) })
	}
	wg.Wait()
	return out
}

func (d *doctor) connections() []result {
	return all(len(d.manifest.Connections), func(i int) result {
		c := d.manifest.Connections[i]
		r := d.connection(c)
		r.Name = "connection:" + c.Name
		return r
	})
}

func (d *doctor) connection(c *manifest.Connection) result {
	if c.Provider == "scripted" {
		return result{Status: ok, Detail: "scripted"}
	}
	parsed, err := llm.ParseConnection(c.Name, c.Embedded(d.replies[c.Name], ""))
	if err != nil {
		return result{Status: fail, Detail: err.Error(), Do: "correct [connections." + c.Name + "]"}
	}
	if len(c.TokenCommand) > 0 {
		if r := d.command(c.TokenCommand[0]); r.Status != ok {
			return r
		}
	}
	var names []string
	if c.APIKeyEnv != "" {
		names = append(names, c.APIKeyEnv)
	}
	for _, header := range slices.Sorted(maps.Keys(c.HeadersEnv)) {
		names = append(names, c.HeadersEnv[header])
	}
	if missing := d.unset(names); missing != "" {
		return result{Status: fail, Detail: missing + " is not set", Do: "set it to the key of the provider: export " + missing + "=…"}
	}
	return d.contact(parsed.Address())
}

// unset returns the first variable that is not set, or is empty.
func (d *doctor) unset(names []string) string {
	for _, n := range names {
		if d.console.Getenv(n) == "" {
			return n
		}
	}
	return ""
}

// contact checks whether the server at an address accepts connections, and compares its clock. It
// sends a HEAD request without credentials to the server's root.
func (d *doctor) contact(address string) result {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return result{Status: fail, Detail: "the address " + address + " is not valid", Do: "correct it in the manifest"}
	}
	if d.offline {
		return result{Status: ok, Detail: u.Host + " was not contacted"}
	}
	ctx, cancel := context.WithTimeout(d.ctx, contactTime)
	defer cancel()
	root := u.Scheme + "://" + u.Host + "/"
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, root, nil)
	if err != nil {
		return result{Status: fail, Detail: "the address " + address + " is not valid", Do: "correct it in the manifest"}
	}
	answer, err := d.client.Do(request)
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10)) // a HEAD has no body
		_ = answer.Body.Close()
		if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
			d.mu.Lock()
			d.skews = append(d.skews, d.now().Sub(date))
			d.mu.Unlock()
		}
		return result{Status: ok, Detail: u.Host + " answers"}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	c, dialErr := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if dialErr == nil {
		_ = c.Close() // nothing was sent
		return result{Status: warn, Detail: u.Host + " accepts connections, and does not answer: " + short(err), Do: "check the address, and certificates"}
	}
	return result{Status: fail, Detail: u.Host + " cannot be reached: " + short(err), Do: "check the address, the network and HTTPS_PROXY"}
}

// short returns the reason of a failed request without its method and address.
func short(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			return fmt.Sprintf("no answer within %v", contactTime)
		}
		err = u.Err
	}
	return err.Error()
}

// command checks whether a command is found. A name with a slash is relative to the manifest.
func (d *doctor) command(name string) result {
	at, err := procgroup.Find(name, d.root, d.console.Environ)
	if err != nil {
		if strings.ContainsAny(name, `/\`) {
			return result{Status: fail, Detail: "executable " + name + " not found", Do: "install it, or correct the path, which is relative to the manifest"}
		}
		return result{Status: fail, Detail: "executable " + name + " not found in PATH", Do: "install it, or correct `command`"}
	}
	return result{Status: ok, Detail: at}
}

func (d *doctor) hosts() []result {
	return all(len(d.manifest.Hosts), func(i int) result {
		h := d.manifest.Hosts[i]
		r := d.host(h)
		r.Name = "host:" + h.Name
		return r
	})
}

func (d *doctor) host(h *manifest.Host) result {
	c, err := host.ParseConfig(h.Name, h.Name, h.Params, h.Config, d.root)
	if err != nil {
		return result{Status: fail, Detail: console.Cause(err).Error(), Do: "correct [hosts." + h.Name + "]"}
	}
	r := d.command(c.Command)
	if r.Status != ok {
		return r
	}
	for _, p := range c.ParamsEnv {
		if missing := d.unset([]string{p.Env}); missing != "" {
			return result{Status: fail, Detail: missing + " is not set", Do: "set it: a parameter of the host has its value"}
		}
	}
	return r
}

func (d *doctor) servers() []result {
	return all(len(d.manifest.MCP), func(i int) result {
		s := d.manifest.MCP[i]
		r := d.server(s)
		r.Name = "mcp:" + s.Name
		return r
	})
}

func (d *doctor) server(s *manifest.MCP) result {
	c, err := mcpport.ParseConfig(s.Name, s.Config, d.root)
	if err != nil {
		return result{Status: fail, Detail: err.Error(), Do: "correct [mcp." + s.Name + "]"}
	}
	if missing := d.unset(c.Variables()); missing != "" {
		return result{Status: fail, Detail: missing + " is not set", Do: "set it: [mcp." + s.Name + "] reads a secret from it"}
	}
	if c.URL != "" {
		return d.contact(c.URL)
	}
	return d.command(c.Command)
}

// tools checks the handlers of the tools in the manifest.
func (d *doctor) tools() []result {
	return all(len(d.manifest.Tools), func(i int) result {
		t := d.manifest.Tools[i]
		r := d.tool(t.Config)
		r.Name = "tool:" + t.Name
		return r
	})
}

func (d *doctor) tool(config json.RawMessage) result {
	var form struct {
		Command *struct {
			Run []string `json:"run"`
		} `json:"command"`
		HTTP *struct {
			URL string `json:"url"`
		} `json:"http"`
		MCP *struct {
			Server string `json:"server"`
		} `json:"mcp"`
		Concerto *struct {
			File string `json:"file"`
		} `json:"concerto"`
	}
	if err := json.Unmarshal(config, &form); err != nil {
		return result{Status: fail, Detail: err.Error(), Do: "correct the section of the tool"}
	}
	switch {
	case form.Command != nil && len(form.Command.Run) > 0:
		return d.command(form.Command.Run[0])
	case form.HTTP != nil && !strings.Contains(form.HTTP.URL, "{"):
		return d.contact(form.HTTP.URL)
	case form.HTTP != nil:
		return result{Status: ok, Detail: "the address has parameters, so it was not contacted"}
	case form.MCP != nil:
		if !slices.ContainsFunc(d.manifest.MCP, func(s *manifest.MCP) bool { return s.Name == form.MCP.Server }) {
			return result{Status: fail, Detail: "no section [mcp." + form.MCP.Server + "]", Do: "add it, or correct the name of the server"}
		}
		return result{Status: ok, Detail: "the server " + form.MCP.Server}
	case form.Concerto != nil:
		path := filepath.Join(d.root, filepath.FromSlash(form.Concerto.File))
		if _, err := os.Stat(path); err != nil {
			return result{Status: fail, Detail: form.Concerto.File + " does not exist", Do: "correct `file`, which is relative to the manifest"}
		}
		return result{Status: ok, Detail: form.Concerto.File}
	}
	return result{Status: ok, Detail: "no handler that this machine must have"}
}
