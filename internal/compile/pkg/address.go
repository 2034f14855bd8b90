// Package pkg contains the rules for packages of source code (spec/46-packages.md): addresses of
// repositories, versions, the selection of versions, the lock file, hashes, the content that a
// package may have, and what its code may use. The package performs no IO.
package pkg

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Address is the address of a git repository.
type Address struct {
	Text   string // as written, with the scheme in lower case, because git rejects others
	Key    string // addresses of one repository have equal keys
	Scheme string // "https", "http", "ssh" or "file", which is also the protocol of git
	// IsLocal reports that the repository is on this machine, over http or in a file system.
	// Packages of other machines may not require it.
	IsLocal bool
}

// ErrSecret is the error of an address that contains a password.
var ErrSecret = errors.New("the address of a repository contains a secret: store it with git's credential helper, and remove it from the address")

// AddressError is the error for a text that is not the address of a repository.
type AddressError struct{ Text, Reason string }

func (e *AddressError) Error() string {
	text := fmt.Sprintf("%q is not a repository address", e.Text)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// AddressForms describes the accepted addresses for hints.
const AddressForms = "an address begins with https:// or ssh://, or is USER@HOST:PATH; http:// and file:// are only for repositories on this machine"

// maxAddress is the maximum length of an address in bytes.
const maxAddress = 2000

// scpForm matches USER@HOST:PATH. A PATH that begins with `-` or `:` could be an option or the name
// of a transport program.
var scpForm = pattern(`^([A-Za-z0-9._][A-Za-z0-9._-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):([^-:].*)$`)

var (
	hostName = pattern(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?$`)
	userName = pattern(`^[A-Za-z0-9._][A-Za-z0-9._+-]*$`)
)

// pattern returns a function that compiles an expression at its first call.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22"}

// ParseAddress parses the address of a repository. The error is an *AddressError or ErrSecret.
func ParseAddress(text string) (Address, error) {
	bad := func(format string, args ...any) (Address, error) {
		return Address{}, &AddressError{redactAddress(text), fmt.Sprintf(format, args...)}
	}
	for _, r := range text {
		if r <= ' ' || r == 0x7f || r == '\\' || r == 0xfffd {
			return bad("it contains a space, a backslash or a control character")
		}
	}
	if text == "" || len(text) > maxAddress || text[0] == '-' {
		return bad("")
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		m := scpForm().FindStringSubmatch(text)
		if m == nil {
			return bad("")
		}
		return Address{Text: text, Key: m[1] + "@" + strings.ToLower(m[2]) + ":" + trimmedPath(m[3]), Scheme: "ssh"}, nil
	}
	scheme = strings.ToLower(scheme)
	if scheme != "file" && defaultPorts[scheme] == "" {
		return bad("")
	}
	text = scheme + "://" + rest
	u, err := url.Parse(text)
	if err != nil {
		return bad("it cannot be parsed")
	}
	if _, hasPassword := u.User.Password(); hasPassword {
		return Address{}, ErrSecret
	}
	host, port, user := strings.ToLower(u.Hostname()), u.Port(), u.User.Username()
	switch {
	case strings.ContainsAny(text, "?#"):
		return bad("it has a query or a fragment")
	case user != "" && !userName().MatchString(user) || u.User != nil && user == "":
		return bad("the name of the user is not valid")
	case scheme == "file" && (host != "" && host != "localhost" || u.User != nil || port != ""):
		return bad("file:// is only for repositories on this machine")
	case scheme != "file" && net.ParseIP(host) == nil && !hostName().MatchString(host):
		return bad("the name of the host is not valid")
	case scheme == "http" && !isThisMachine(host):
		return bad("http:// is only for this machine: use https://")
	case strings.Trim(u.Path, "/") == "":
		return bad("it has no path")
	case strings.HasPrefix(strings.TrimLeft(u.Path, "/"), "-"):
		return bad("the path begins with `-`")
	}
	_, path, _ := strings.Cut(rest, "/")
	key := scheme + "://"
	if user != "" {
		key += user + "@"
	}
	if scheme != "file" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		key += host
		if port != "" && port != defaultPorts[scheme] {
			key += ":" + port
		}
	}
	return Address{Text: text, Key: key + "/" + trimmedPath(path), Scheme: scheme, IsLocal: scheme == "http" || scheme == "file"}, nil
}

// trimmedPath removes trailing slashes and .git, which do not distinguish repositories.
func trimmedPath(path string) string {
	return strings.TrimSuffix(strings.TrimRight(path, "/"), ".git")
}

func isThisMachine(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// redactAddress removes the password from a text that may be an address.
func redactAddress(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if !found || at < 0 {
		return text
	}
	user, _, hasPassword := strings.Cut(rest[:at], ":")
	if !hasPassword {
		return text
	}
	return scheme + "://" + user + ":…" + rest[at:]
}

// RepositoryName returns the last part of the path without .git.
func (a Address) RepositoryName() string {
	return a.Key[strings.LastIndexAny(a.Key, "/:")+1:]
}

// CheckDir returns the reason why dir is not the directory of a package in its repository, or "".
// It is a relative path with slashes; "" is the top directory.
func CheckDir(dir string) string {
	if dir == "" {
		return ""
	}
	if strings.HasPrefix(dir, "/") {
		return "it must be relative to the top directory of the repository"
	}
	for part := range strings.SplitSeq(dir, "/") {
		if part == ".." {
			return "it must not leave the repository"
		}
		if reason := portability(part); reason != "" || strings.ContainsAny(part, " #\"'`") {
			return "it must be a path such as `plan` or `libs/plan`"
		}
	}
	return ""
}

var commitForm = pattern(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// IsCommit reports whether a text is the id of a commit: 40 or 64 hexadecimal digits.
func IsCommit(text string) bool { return commitForm().MatchString(text) }
