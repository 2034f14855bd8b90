// Package fileuri converts between paths and file URIs (RFC 8089) for the systems on which Concerto
// runs. A system is a value of runtime.GOOS, so that all conversions can be tested on each system.
package fileuri

import (
	"net/url"
	"path"
	"strings"
)

const windows = "windows"

// Path returns the clean absolute path of a file URI. ok is false for other URIs. On Windows the
// drive letter is in upper case, and a URI with a host is a path such as \\server\share\x.
func Path(uri, system string) (file string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !strings.HasPrefix(u.Path, "/") {
		return "", false
	}
	local := u.Host == "" || strings.EqualFold(u.Host, "localhost")
	file = path.Clean(u.Path)
	switch {
	case system != windows:
		return file, local
	case !local:
		return `\\` + u.Host + strings.ReplaceAll(file, "/", `\`), true
	case !hasDrive(file[1:]):
		return "", false
	}
	file = strings.ToUpper(file[1:2]) + file[2:]
	if len(file) == len("C:") {
		file += "/"
	}
	return strings.ReplaceAll(file, "/", `\`), true
}

// Of returns the URI of an absolute path, in the form that VS Code uses. ok is false for a path
// that is not absolute.
func Of(file, system string) (uri string, ok bool) {
	if system != windows {
		return "file://" + escape(file), strings.HasPrefix(file, "/")
	}
	file = strings.ReplaceAll(file, `\`, "/")
	if share, ok := strings.CutPrefix(file, "//"); ok {
		host, rest, _ := strings.Cut(share, "/")
		return "file://" + host + escape("/"+rest), host != ""
	}
	if !hasDrive(file) {
		return "", false
	}
	return "file:///" + strings.ToLower(file[:1]) + "%3A" + escape(file[2:]), true
}

// hasDrive reports whether a path with slashes begins with a drive: "c:" or "c:/x".
func hasDrive(file string) bool {
	return len(file) >= 2 && file[1] == ':' && 'a' <= file[0]|0x20 && file[0]|0x20 <= 'z' && (len(file) == 2 || file[2] == '/')
}

func escape(file string) string { return (&url.URL{Path: file}).EscapedPath() }
