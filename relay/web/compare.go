package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/web"
)

// OneFile returns a page of Apart as one HTML file.
func OneFile(d *web.Dist) []byte {
	return d.OneFile("page/main.js", "/icon.svg", "style.css", "page/page.css")
}

// compareTimeout is the maximum time for each file of Compare.
const compareTimeout = 20 * time.Second

// buildName matches the name of a build in an HTML file.
var buildName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`assets/([0-9a-v]{16})/`) })

// Compare compares the page at a URL, which ends with a slash, with a page of this program. It
// returns a line for each difference, and an error if the page could not be read.
func Compare(ctx context.Context, at string, d *web.Dist) (differences []string, err error) {
	files := d.Files()
	served, status, err := download(ctx, at, len(files["/index.html"]))
	if err != nil {
		return nil, err
	}
	if name := buildName().FindSubmatch(served); status == http.StatusOK && name != nil && string(name[1]) != d.Build() {
		return []string{fmt.Sprintf("%s: the page is build %s, and that of this program is build %s", at, name[1], d.Build())}, nil
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		file := at + strings.TrimPrefix(path, "/")
		if path == "/index.html" {
			file = at
		}
		got, status, err := download(ctx, file, len(files[path]))
		switch {
		case err != nil:
			return nil, err
		case status != http.StatusOK:
			differences = append(differences, fmt.Sprintf("%s: missing (status %d)", file, status))
		case !bytes.Equal(got, files[path]):
			differences = append(differences, fmt.Sprintf("%s: changed", file))
		}
	}
	return differences, nil
}

// download returns a file and the status of the response. It reads at most one byte more than most.
func download(ctx context.Context, file string, most int) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, file, nil)
	if err != nil {
		return nil, 0, err
	}
	q.Header.Set("Cache-Control", "no-cache")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.Do(q)
	if err != nil {
		return nil, 0, fmt.Errorf("read the page: %w", err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the page: %s: %w", file, err)
	}
	return text, r.StatusCode, nil
}

// PageURL returns a URL of a page with a final slash. It reports whether the URL is valid.
func PageURL(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return u.String(), true
}
