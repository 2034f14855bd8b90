package pkg

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAddresses checks which addresses are accepted, and which are equal.
func TestAddresses(t *testing.T) {
	for _, same := range [][]string{
		{"https://example.com/ada/text", "HTTPS://Example.COM/ada/text/", "https://example.com:443/ada/text.git", "https://example.com/ada/text.git/"},
		{"ssh://git@example.com/ada/text", "SSH://git@EXAMPLE.com:22/ada/text.git"},
		{"git@example.com:ada/text", "git@Example.com:ada/text.git"},
		{"http://localhost:8080/x", "HTTP://LOCALHOST:8080/x/"},
		{"http://127.0.0.1/x", "http://127.0.0.1:80/x"},
		{"http://[::1]:81/x"},
		{"file:///srv/text", "File://localhost/srv/text.git"},
		{"https://example.com:8443/ada/text"},
		{"https://ada@example.com/ada/text"},
	} {
		first, err := ParseAddress(same[0])
		if err != nil {
			t.Errorf("%q: %v", same[0], err)
		}
		for _, text := range same[1:] {
			a, err := ParseAddress(text)
			if err != nil || a.Key != first.Key {
				t.Errorf("%q has the key %q, want %q of %q; error: %v", text, a.Key, first.Key, same[0], err)
			}
			if scheme, _, found := strings.Cut(text, "://"); found && a.Text != strings.ToLower(scheme)+strings.TrimPrefix(text, scheme) {
				t.Errorf("%q is passed to git as %q, want its scheme in lower case", text, a.Text)
			}
		}
	}
	for _, text := range []string{"", "text", "example.com/ada/text", "--upload-pack=x", "-oProxyCommand=x", "ssh://-oProxyCommand=x/y", "ssh://user@-x/y", "ext::sh -c x", "ext::sh",
		"git://example.com/x", "http://example.com/x", "ftp://example.com/x", `C:\x`, "c:/x", "https://", "https://example.com", "https://example.com/", "https:///x", "https://exam ple.com/x",
		"https://example.com/x?y", "https://example.com/x#y", "https://example.com/\x00", "user@host:-x", "user@host::x", "-u@host:x", "u@-host:x", "file://other/x", "file://", "ssh://host/-x", "a@b@c:d",
		"https://@example.com/x", "fd::17/x", "https://example.com/" + strings.Repeat("x", 3000)} {
		var bad *AddressError
		if a, err := ParseAddress(text); !errors.As(err, &bad) {
			t.Errorf("%q is accepted as %+v; error: %v", text, a, err)
		}
	}
	for _, text := range []string{"https://ada:secret@example.com/x", "https://:secret@example.com/x", "ssh://git:secret@example.com/x"} {
		if _, err := ParseAddress(text); !errors.Is(err, ErrSecret) || strings.Contains(fmt.Sprint(err), "secret@") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestVersions checks the form of versions and their order, with the example of semver 2.0.0.
func TestVersions(t *testing.T) {
	ordered := strings.Fields("v0.0.1 v0.9.10 v1.0.0-alpha v1.0.0-alpha.1 v1.0.0-alpha.beta v1.0.0-beta v1.0.0-beta.2 v1.0.0-beta.11 v1.0.0-rc.1 v1.0.0 v1.0.10 v1.2.0 v2.0.0 v10.0.0 v99999999999999999999.0.0")
	for i, a := range ordered {
		for j, b := range ordered {
			x, ok := ParseVersion(a)
			y, ok2 := ParseVersion(b)
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := x.Compare(y); !ok || !ok2 || got != want {
				t.Errorf("comparing %s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
	for _, text := range []string{"", "1.0.0", "v1", "v1.0", "v01.0.0", "v1.0.0-", "v1.0.0-01", "v1.0.0-a..b", "v1.0.0+build", "v1.0.0-a+b", "v1.0.0 ", "v1.0.0\n", "V1.0.0", "v-1.0.0", "v1.0.0-ä", "v" + strings.Repeat("9", 300) + ".0.0"} {
		if _, ok := ParseVersion(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
	if v, ok := VersionOfTag("plan/v0.3.1", "plan"); !ok || v.Text != "v0.3.1" {
		t.Error("plan/v0.3.1 is not a tag of plan")
	}
	if _, ok := VersionOfTag("v0.3.1", "plan"); ok {
		t.Error("v0.3.1 is a tag of plan")
	}
}

// TestHash compares the hash with a second implementation, written from the definition.
func TestHash(t *testing.T) {
	files := []File{{"lib.conc", []byte("x\r\n")}, {"a/b", nil}, {"a.c", []byte("y")}}
	lines := ""
	for _, name := range []string{"a.c", "a/b", "lib.conc"} {
		i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
		lines += fmt.Sprintf("%x  %s\n", sha256.Sum256(files[i].Data), name)
	}
	sum := sha256.Sum256([]byte(lines))
	if got, want := Hash(files), "h1:"+base64.StdEncoding.EncodeToString(sum[:]); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
	if got, want := Hash(nil), "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="; got != want {
		t.Errorf("the hash of no files is %s, want %s", got, want)
	}
	name, ok := HashDirectory(Hash(files))
	if !ok || len(name) != 3+64 {
		t.Errorf("the directory of the hash is %q", name)
	}
	for _, text := range []string{"", "h1:", "h1:xx", "h2:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "h1:../../x", "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"} {
		if name, ok := HashDirectory(text); ok {
			t.Errorf("%q is accepted as a hash with the directory %q", text, name)
		}
	}
}

// TestUses checks which uses cover others.
func TestUses(t *testing.T) {
	uses := func(text string) (out []Use) {
		for _, s := range strings.Fields(text) {
			u, ok := ParseUse(s)
			if !ok {
				t.Fatalf("%q is not a use", s)
			}
			out = append(out, u)
		}
		return out
	}
	for in, want := range map[string]string{"": "", "net:b net:a net:b": "net:a net:b", "net:a net env:X": "env:X net", "run read:a write:a": "read:a run write:a"} {
		if got := NormalizeUses(uses(in)); !slices.Equal(got, uses(want)) {
			t.Errorf("%q is normalized to %v, want %q", in, got, want)
		}
	}
	for _, c := range []struct{ before, now, want string }{{"", "net:a", "net:a"}, {"net:a", "net:a net:b", "net:b"}, {"net", "net:a", ""}, {"net:a", "net", "net"}, {"env:A", "", ""}} {
		if got := NewUses(uses(c.before), uses(c.now)); !slices.Equal(got, uses(c.want)) {
			t.Errorf("from %q to %q: %v, want %q", c.before, c.now, got, c.want)
		}
	}
	for _, text := range []string{"", "nets", "net:", "disk:x", "net:a\nb"} {
		if _, ok := ParseUse(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
}

const lockExample = `# Written by concerto. Commit it; do not edit it.
format = 1

[[package]]
git = "https://example.com/ada/text"
version = "v1.2.0"
commit = "3f786850e387550fdab836ed7e6dc881de23001b"
hash = "h1:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
needs = [
    "fmt2 https://example.com/ada/fmt2 v1.0.1",
    "plan https://example.com/ada/mono#plan v0.3.1",
]
uses = [
    "env:HOME",
    "net:api.example.com",
]
`

// TestLock checks the form of the lock file, and the line of each error.
func TestLock(t *testing.T) {
	l, err := ParseLock([]byte(lockExample))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(l.Encode()); got != lockExample {
		t.Errorf("written again:\n%s\nwant:\n%s", got, lockExample)
	}
	for _, text := range []string{"\ufeff" + lockExample, strings.ReplaceAll(lockExample, "\n", "\r\n")} {
		l, err := ParseLock([]byte(text))
		if err != nil || string(l.Encode()) != lockExample {
			t.Errorf("with a BOM or CRLF: %v", err)
		}
	}
	if got := string(new(Lock).Encode()); got != "# Written by concerto. Commit it; do not edit it.\nformat = 1\n" {
		t.Errorf("the empty lock file is %q", got)
	}
	for _, c := range []struct {
		old, new string
		line     int
		want     string
	}{
		{"format = 1", "format = 2", 2, "concerto.lock was written by a newer version"},
		{"format = 1", "format = 0", 2, "`format` must be 1"},
		{"format = 1", "", 1, "`format` is missing"},
		{"version = ", "color = 1\nversion = ", 6, "unknown key `color`"},
		{"format = 1", "format = 1\nextra = 2", 3, "unknown key `extra`"},
		{"[[package]]", "<<<<<<< ours\n[[package]]", 4, "the file contains a merge conflict"},
		{`"v1.2.0"`, `"1.2.0"`, 6, "`version` must be vN.N.N or `commit`"},
		{"3f78", "zzzz", 7, "`commit` must be 40 or 64 hexadecimal digits"},
		{"https://example.com/ada/text", "ext::sh", 5, `"ext::sh" is not a repository address`},
		{`hash = "h1:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="`, "", 4, "`hash` is missing"},
		{"fmt2 https", "https", 9, "`needs` contains"},
		{"env:HOME", "disk:x", 13, "`uses` contains the unknown use"},
		{"[[package]]", "[[package]", 5, "expected end of table array name"},
		{`version = "v1.2.0"`, "dir = \"../x\"\nversion = \"v1.2.0\"", 6, "`dir` is not valid"},
	} {
		text := strings.Replace(lockExample, c.old, c.new, 1)
		_, err := ParseLock([]byte(text))
		var bad *LockError
		if !errors.As(err, &bad) || bad.Line != c.line || !strings.Contains(bad.Message, c.want) || bad.Hint == "" {
			t.Errorf("%q: %v, want %q at line %d, with a hint", c.new, err, c.want, c.line)
		}
	}
	if _, err := ParseLock(make([]byte, maxLock+1)); err == nil {
		t.Error("a lock file of more than 16 MiB is accepted")
	}
	twice := lockExample + lockExample[strings.Index(lockExample, "\n[[package]]"):]
	if _, err := ParseLock([]byte(twice)); err == nil || !strings.Contains(err.Error(), "listed twice") {
		t.Errorf("a package that is listed twice: %v", err)
	}
}

// FuzzPackages checks properties of addresses, trees, versions and lock files.
func FuzzPackages(f *testing.F) {
	for _, s := range []string{"https://example.com/a", "git@h:p", "v1.0.0-rc.1", lockExample, "con", "ext::sh", "a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := ParseAddress(s); err == nil {
			again, err := ParseAddress(a.Text)
			if err != nil || again != a || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \n\x00") {
				t.Errorf("%q is accepted as %+v, and then %+v", s, a, again)
			}
		}
		if v, ok := ParseVersion(s); ok && (v.Compare(v) != 0 || v.Text != s) {
			t.Errorf("the version %q is not equal to itself", s)
		}
		if CheckName(s) == "" && (strings.HasPrefix(s, "/") || strings.Contains("/"+s+"/", "/../") || s == "") {
			t.Errorf("the name %q is accepted", s)
		}
		if l, err := ParseLock([]byte(s)); err == nil {
			text := l.Encode()
			again, err := ParseLock(text)
			if err != nil || string(again.Encode()) != string(text) {
				t.Errorf("the lock file %q is written as %q, which is not read as the same: %v", s, text, err)
			}
		} else if bad, ok := errors.AsType[*LockError](err); !ok || bad.Hint == "" {
			t.Errorf("%q: the error %v has no hint", s, err)
		}
	})
}
