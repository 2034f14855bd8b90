package userfile

import (
	"path/filepath"
	"runtime"
)

// Dir returns the directory of Concerto in the directory that the environment variable names, or
// otherwise in the directory home below HOME, on Windows in LocalAppData; "" without either.
func Dir(getenv func(string) string, variable string, home ...string) string {
	dir := userDir(runtime.GOOS, getenv, variable, filepath.Join(home...))
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "concerto")
}

// userDir returns the directory for files of a user on a system, a value of runtime.GOOS, or "".
func userDir(system string, getenv func(string) string, variable, home string) string {
	switch dir, own := getenv(variable), getenv("HOME"); {
	case dir != "" && (filepath.IsAbs(dir) || system == "windows"):
		return dir
	case system == "windows":
		return getenv("LocalAppData")
	case filepath.IsAbs(own):
		return filepath.Join(own, home)
	}
	return ""
}
