package procgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Reasons why a command cannot be started. Check them with errors.Is.
var (
	ErrNotFound      = errors.New("not found")
	ErrNotExecutable = errors.New("not executable")
	ErrIsDirectory   = errors.New("a directory")
)

// Find returns the path of a command. A name with a slash is relative to dir. Other names are
// searched in the PATH of env. The error wraps ErrNotFound, ErrNotExecutable or ErrIsDirectory.
func Find(command, dir string, env []string) (string, error) {
	if strings.ContainsRune(command, '/') {
		path := command
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
			if abs, err := filepath.Abs(path); err == nil {
				path = abs
			}
		}
		return path, executable(path)
	}
	found := ErrNotFound
	if command == "" {
		return "", ErrNotFound
	}
	for _, d := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue
		}
		path := filepath.Join(d, command)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, ErrNotExecutable) {
			found = err
		}
	}
	return "", found
}

// Getenv returns the value of a variable in an environment, or "". If the variable occurs several
// times, the last value is used.
func Getenv(env []string, name string) string {
	v, _ := LookupEnv(env, name)
	return v
}

// LookupEnv is like Getenv, but distinguishes an empty variable from an unset one.
func LookupEnv(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case err != nil:
		return err
	case info.IsDir():
		return ErrIsDirectory
	case info.Mode()&0o111 == 0:
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
