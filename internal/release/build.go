package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// passed lists the environment variables that builds receive. Others could change the executables.
var passed = strings.Fields(`PATH HOME TMPDIR TMP TEMP SYSTEMROOT SystemRoot LOCALAPPDATA APPDATA USERPROFILE PATHEXT COMSPEC
	HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy SSL_CERT_FILE SSL_CERT_DIR NETRC SSH_AUTH_SOCK`)

// goPassed lists the settings of the Go command that builds receive: caches, and addresses from
// which modules are downloaded.
var goPassed = strings.Fields(`GOCACHE GOMODCACHE GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE GOVCS GOAUTH GOTOOLCHAIN`)

// goSettings are the settings of the Go command that are the same in each build.
var goSettings = []string{"GOENV=off", "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "LC_ALL=C", "TZ=UTC"}

// buildEnvironment returns the environment of builds in a directory with the project's sources.
func buildEnvironment(ctx context.Context, dir string) ([]string, error) {
	c := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, goPassed...)...)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		return nil, commandError("go env", err)
	}
	var values map[string]string
	if err := json.Unmarshal(out, &values); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var env []string
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range goPassed {
		if v := values[name]; v != "" {
			env = append(env, name+"="+v)
		}
	}
	return append(env, goSettings...), nil
}

// commandError adds the output of a failed command to its error.
func commandError(command string, err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return fmt.Errorf("%s: %s", command, bytes.TrimSpace(exit.Stderr))
	}
	return fmt.Errorf("%s: %w", command, err)
}

// run runs a command in the exported sources and returns its output.
func (r *release) run(ctx context.Context, env []string, command ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir, c.Env = r.source, append(append([]string{}, r.env...), env...)
	out, err := c.Output()
	if err != nil {
		return nil, commandError(strings.Join(command[:min(2, len(command))], " "), err)
	}
	return out, nil
}

// environment returns the additional environment of a build for a target.
func (t Target) environment() []string { return []string{"GOOS=" + t.OS, "GOARCH=" + t.Arch} }

// compile builds the programs for a target into dir.
func (r *release) compile(ctx context.Context, t Target, dir string) error {
	stamp := fmt.Sprintf("-s -w -X main.release=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.date.Format(time.RFC3339))
	if r.dirty {
		stamp += " -X main.modified=true"
	}
	command := []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=" + stamp, "-o", dir + string(filepath.Separator)}
	for _, p := range Programs {
		command = append(command, "./cmd/"+p)
	}
	_, err := r.run(ctx, t.environment(), command...)
	return err
}

// module is a Go module that is linked into an executable.
type module struct {
	path, version, sum string
	programs           []string // executables that contain it
}

// modules returns the modules in the executables in dir and the version of Go. They are those that
// `go version -m` prints.
func modules(t Target, dir string) (all []*module, goVersion string, err error) {
	known := map[string]*module{}
	for _, program := range Programs {
		info, err := buildinfo.ReadFile(filepath.Join(dir, t.exe(program)))
		if err != nil {
			return nil, "", err
		}
		goVersion = info.GoVersion
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			key := m.Path + "@" + m.Version
			if known[key] == nil {
				known[key] = &module{path: m.Path, version: m.Version, sum: m.Sum}
				all = append(all, known[key])
			}
			known[key].programs = append(known[key].programs, program)
		}
	}
	return all, goVersion, nil
}

// linkedPackage is a package that a program links, as `go list` describes it.
type linkedPackage struct {
	ImportPath string
	Dir        string
	Standard   bool
	Module     *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version, Dir string }
	}
}

// linkedPackages returns the packages that the programs link for a target.
func (r *release) linkedPackages(ctx context.Context, t Target) ([]linkedPackage, error) {
	command := []string{"go", "list", "-trimpath", "-buildvcs=false", "-deps", "-json=ImportPath,Dir,Standard,Module"}
	for _, p := range Programs {
		command = append(command, "./cmd/"+p)
	}
	out, err := r.run(ctx, t.environment(), command...)
	if err != nil {
		return nil, err
	}
	var all []linkedPackage
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p linkedPackage
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}
