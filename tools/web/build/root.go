package build

import (
	"fmt"
	"regexp"
	"strings"
)

// needed matches the comment in an HTML file that Page replaces.
var needed = regexp.MustCompile(`<!--modules ([^ ]+)-->`)

// Page replaces each `<!--modules NAME-->` in an HTML file by links. The links make the browser
// load the module and its static imports at the same time.
func (o Output) Page(html string) (string, error) {
	var err error
	out := needed.ReplaceAllStringFunc(html, func(found string) string {
		name := needed.FindStringSubmatch(found)[1]
		modules, ok := o.Needs[name]
		if !ok {
			err = fmt.Errorf("%s names a module that is not built", found)
		}
		var links []string
		for _, m := range modules {
			links = append(links, fmt.Sprintf(`<link rel="modulepreload" href="/assets/BUILD/%s">`, m))
		}
		return strings.Join(links, "\n")
	})
	return out, err
}
