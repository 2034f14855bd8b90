// Package onepage writes pages that are one file: they open from a disk, load nothing, and contain
// their data.
package onepage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
)

//go:generate go run ../../tools/web/gen -plain -o dist/graph -web .. -tree onepage=. style.css onepage/graph.css onepage/graph.js
//go:generate go run ../../tools/web/gen -plain -o dist/report -web .. -tree onepage=. onepage/report.css onepage/report.js

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
	z := gzip.NewWriter(&packed)
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

// Asset returns a built file of a page, graph or report. A missing one is a bug of this package.
func Asset(page, name string) string {
	text, err := dist.ReadFile("dist/" + page + "/assets/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ErrNoData means that a file is not a page that Page.Write has written.
var ErrNoData = errors.New("not a page with data")

// ReadData returns the data of a page of at most most bytes.
func ReadData(page []byte, most int64) ([]byte, error) {
	const begin, end = `<script type="text/plain" class="data">`, "</script>"
	var packed []byte
	for {
		_, rest, found := bytes.Cut(page, []byte(begin))
		if !found {
			break
		}
		chunk, rest, found := bytes.Cut(rest, []byte(end))
		if !found {
			return nil, ErrNoData
		}
		var err error
		if packed, err = base64.StdEncoding.AppendDecode(packed, chunk); err != nil {
			return nil, ErrNoData
		}
		page = rest
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, ErrNoData
	}
	data, err := io.ReadAll(io.LimitReader(z, most+1))
	if err != nil || int64(len(data)) > most {
		return nil, ErrNoData
	}
	return data, nil
}
