package procgroup

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Reasons why a command cannot be started. Check them with errors.Is.
var (
	ErrNotFound      = errors.New("not found")
	ErrNotExecutable = errors.New("not executable")
	ErrIsDirectory   = errors.New("a directory")
)

// Find returns the path of a command. A name with a slash is relative to dir. Other names are
// searched in the PATH of env. On Windows, a name without an extension of PATHEXT is searched with
// each of them: agents that are installed with npm are NAME.cmd. The error wraps ErrNotFound,
// ErrNotExecutable or ErrIsDirectory.
func Find(command, dir string, env []string) (string, error) {
	return finder{runtime.GOOS, dir, env}.find(command)
}

// finder finds commands on a system, a value of runtime.GOOS.
type finder struct {
	system, dir string
	env         []string
}

const windowsSystem = "windows"

func (f finder) find(command string) (string, error) {
	separators, list := "/", ":"
	if f.system == windowsSystem {
		separators, list = `/\`, ";"
	}
	if strings.ContainsAny(command, separators) {
		path := command
		if !filepath.IsAbs(path) {
			path = filepath.Join(f.dir, path)
			if abs, err := filepath.Abs(path); err == nil {
				path = abs
			}
		}
		return f.first(path)
	}
	found := ErrNotFound
	if command == "" {
		return "", ErrNotFound
	}
	for d := range strings.SplitSeq(f.getenv("PATH"), list) {
		if f.system == windowsSystem {
			d = strings.Trim(d, `"`)
		}
		if !filepath.IsAbs(d) {
			continue
		}
		path, err := f.first(filepath.Join(d, command))
		if err == nil {
			return path, nil
		}
		if errors.Is(err, ErrNotExecutable) {
			found = err
		}
	}
	return "", found
}

// first returns the first existing form of a path: the path, or with an extension of PATHEXT. If
// none exists, it returns the path with the error.
func (f finder) first(path string) (string, error) {
	if f.system != windowsSystem {
		return path, f.executable(path)
	}
	extensions := strings.Split(strings.ToLower(cmp.Or(f.getenv("PATHEXT"), ".COM;.EXE;.BAT;.CMD")), ";")
	forms := []string{path}
	if !slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
		forms = nil
		for _, e := range extensions {
			forms = append(forms, path+e)
		}
	}
	var err error
	for _, form := range forms {
		if err = f.executable(form); err == nil {
			return form, nil
		}
	}
	return path, err
}

func (f finder) getenv(name string) string {
	v, _ := lookupEnv(f.system, f.env, name)
	return v
}

// Getenv returns the value of a variable in an environment, or "". If the variable occurs several
// times, the last value is used.
func Getenv(env []string, name string) string {
	v, _ := LookupEnv(env, name)
	return v
}

// LookupEnv is like Getenv, but distinguishes an empty variable from an unset one. On Windows the
// case of the name has no meaning.
func LookupEnv(env []string, name string) (string, bool) { return lookupEnv(runtime.GOOS, env, name) }

func lookupEnv(system string, env []string, name string) (string, bool) {
	for _, variable := range slices.Backward(env) {
		if k, v, ok := strings.Cut(variable, "="); ok && (k == name || system == windowsSystem && strings.EqualFold(k, name)) {
			return v, true
		}
	}
	return "", false
}

func (f finder) executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case err != nil:
		return err
	case info.IsDir():
		return ErrIsDirectory
	case f.system != windowsSystem && info.Mode()&0o111 == 0:
		return ErrNotExecutable
	}
	return nil
}

// WhyNot returns a text that explains an error of Find or Start.
func WhyNot(err error) string {
	switch {
	case errors.Is(err, ErrNotFound):
		return "it is not there"
	case errors.Is(err, ErrIsDirectory):
		return "it is a directory"
	case errors.Is(err, ErrNotExecutable), errors.Is(err, os.ErrPermission):
		return "it is not executable"
	}
	return err.Error()
}

// BareError returns err without its operation and path.
func BareError(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
