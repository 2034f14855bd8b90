// Package onepage writes pages that are one file: they open from a disk, load nothing, and contain
// their data. The compatibility promise does not cover this API.
package onepage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
)

//go:generate go run ../../tools/web/gen -plain -o dist -web .. -tree onepage=. style.css onepage/graph.css onepage/graph.js

//go:embed dist
var dist embed.FS

// Page is a page in one file.
type Page struct {
	Title  string
	Styles []string // style sheets
	Script string   // module
	Body   string   // HTML of the body; its author escapes what is not markup
	Data   []byte   // JSON for the script; readEmbedded in parts/embedded.js returns its value
}

// chunkBytes is the size of the compressed data in one element.
const chunkBytes = 1 << 20

// Write writes the page. Its content security policy allows nothing but its own script and styles:
// the browser makes no request, and runs no code that the data contains.
func (p *Page) Write(w io.Writer) error {
	var style bytes.Buffer
	for _, s := range p.Styles {
		style.WriteString("\n" + s)
	}
	script := "\n" + p.Script
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>%s</style>
</head>
<body>
%s
`, hash(script), hash(style.String()), html.EscapeString(p.Title), style.String(), p.Body)
	if err := writeData(&b, p.Data); err != nil {
		return err
	}
	fmt.Fprintf(&b, "<script type=\"module\">%s</script>\n</body>\n</html>\n", script)
	_, err := w.Write(b.Bytes())
	return err
}

// hash returns the source expression of a script or a style sheet for the policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func writeData(b *bytes.Buffer, data []byte) error {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	for packed.Len() > 0 {
		fmt.Fprintf(b, "<script type=\"text/plain\" class=\"data\">%s</script>\n", base64.StdEncoding.EncodeToString(packed.Next(chunkBytes)))
	}
	return nil
}

// asset returns a built file. A missing one is a bug of this package.
func asset(name string) string {
	text, err := dist.ReadFile("dist/assets/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
