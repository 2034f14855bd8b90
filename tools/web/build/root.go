package build

import (
	"fmt"
	"regexp"
	"strings"
)

// needed matches the comment of a page that is replaced by the links to its modules.
var needed = regexp.MustCompile(`<!--modules ([^ ]+)-->`)

// Page replaces each `<!--modules NAME-->` in an HTML file with links that make the browser load
// the module and its static imports at the same time.
func (o Output) Page(html string) (string, error) {
	var err error
	out := needed.ReplaceAllStringFunc(html, func(found string) string {
		name := needed.FindStringSubmatch(found)[1]
		modules, ok := o.Needs[name]
		if !ok {
			err = fmt.Errorf("%s speaks of a module that is not built", found)
		}
		var links []string
		for _, m := range modules {
			links = append(links, fmt.Sprintf(`<link rel="modulepreload" href="/assets/BUILD/%s">`, m))
		}
		return strings.Join(links, "\n")
	})
	return out, err
}
