package build

import (
	"fmt"
	"regexp"
	"strings"
)

// needed is what a page says where the modules are to stand that it needs.
var needed = regexp.MustCompile(`<!--modules ([^ ]+)-->`)

// Page puts into an HTML file, for each `<!--modules NAME-->`, the links by which the
// browser loads the module and all that it needs at once, not one after the
// other.
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
