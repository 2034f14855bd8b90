// Package link encodes the files of a playground into a link, and decodes links. The page has the
// same code in JavaScript, web/playground/link.js; a test compares the two.
package link

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Prefix begins the fragment of a link.
const Prefix = "#p1="

// Limits of a link: the size of its inflated content in bytes, and its own length.
const (
	maxContent = 1 << 20
	maxLink    = 2 * maxContent
	maxName    = 240 // of a file, in UTF-16 units
)

// Content is the content of a link: files by name, and the name of the file that is shown first.
type Content struct {
	Files map[string]string `json:"files"`
	Open  string            `json:"open"`
}

// ErrSecret is the error of sharing a manifest that contains a secret.
var ErrSecret = errors.New("no link was created, because " + manifest.FileName + " contains a secret")

var (
	errDamaged = errors.New("the link is damaged: it cannot be decoded")
	errLarge   = errors.New("the link is larger than 1 MiB")
)

// Encode returns the fragment of a link, which begins with Prefix.
func Encode(c Content) (string, error) {
	if err := check(&c); err != nil {
		return "", err
	}
	for name, text := range c.Files {
		if path.Base(name) == manifest.FileName && HasSecret(text) {
			return "", ErrSecret
		}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return "", err
	}
	if text.Len() > maxContent {
		return "", errors.New("the files are larger than 1 MiB")
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n"))); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return Prefix + base64.RawURLEncoding.EncodeToString(packed.Bytes()), nil
}

// HasSecret reports whether a manifest contains a secret.
func HasSecret(text string) bool {
	_, found := manifest.Parse(source.NewFile(manifest.FileName, []byte(text)))
	if slices.ContainsFunc(found.Sorted(), func(d *diag.Diagnostic) bool { return d.Info == diag.ManifestSecret }) {
		return true
	}
	const replaced = "\x00"
	return strings.Contains(secret.WithoutTokens(text, replaced), replaced)
}

// Decode returns the content of a link. The error is the reason why the link is refused.
func Decode(fragment string) (Content, error) {
	var c Content
	text, ok := strings.CutPrefix(fragment, Prefix)
	switch {
	case len(fragment) > maxLink:
		return c, errLarge
	case !ok || text == "" || strings.ContainsAny(text, "\r\n"):
		return c, errDamaged
	}
	packed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return c, errDamaged
	}
	inflated, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxContent+1))
	switch {
	case len(inflated) > maxContent:
		return c, errLarge
	case err != nil || !utf8.Valid(inflated):
		return c, errDamaged
	}
	var raw struct {
		Files map[string]any `json:"files"`
		Open  any            `json:"open"`
	}
	if !json.Valid(inflated) {
		return c, errDamaged
	}
	if json.Unmarshal(inflated, &raw) != nil || len(raw.Files) == 0 {
		return c, errors.New("the link contains no files")
	}
	c.Files = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(raw.Files)) {
		content, isText := raw.Files[name].(string)
		if problem := NameProblem(name); problem != "" {
			return Content{}, fmt.Errorf("the link contains a file with the name %q, which %s", name, problem)
		}
		if !isText {
			return Content{}, fmt.Errorf("the link contains the file %s, which is no text", name)
		}
		c.Files[name] = content
	}
	c.Open, _ = raw.Open.(string)
	return c, check(&c)
}

// check returns the reason why the content cannot be shared. It sets Open if it names no file.
func check(c *Content) error {
	names := slices.Sorted(maps.Keys(c.Files))
	if len(names) == 0 {
		return errors.New("the link contains no files")
	}
	for _, name := range names {
		if problem := NameProblem(name); problem != "" {
			return fmt.Errorf("the link contains a file with the name %q, which %s", name, problem)
		}
		if !utf8.ValidString(c.Files[name]) {
			return fmt.Errorf("the link contains the file %s, which is no text", name)
		}
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"/") }) {
			return fmt.Errorf("the link contains the file %s, which is also a directory", name)
		}
	}
	if _, ok := c.Files[c.Open]; !ok {
		c.Open = names[0]
	}
	return nil
}

// NameProblem returns why a text cannot be the name of a file, or "".
func NameProblem(name string) string {
	parts := strings.Split(name, "/")
	isDrive := len(name) > 1 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
	switch {
	case name == "":
		return "is empty"
	case !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError) || strings.ContainsFunc(name, unicode.IsControl):
		return "is no text"
	case strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`) || isDrive:
		return "is absolute"
	case strings.Contains(name, `\`):
		return `contains \`
	case slices.Contains(parts, ".."):
		return "contains .."
	case slices.Contains(parts, "") || slices.Contains(parts, "."):
		return "has an empty part"
	case len(utf16.Encode([]rune(name))) > maxName:
		return fmt.Sprintf("is longer than %d characters", maxName)
	}
	return ""
}
