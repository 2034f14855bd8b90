package build

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
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

// included matches the comment in a script that Script replaces.
var included = regexp.MustCompile(`/\*script ([a-z]+)=([^ ]+)\*/`)

// Script replaces each `/*script NAME=MODULE*/` in a script that is no module by the module and all
// that it imports. The script then has the exports of the module as NAME.
func (in Input) Script(text string) (string, error) {
	b := &builder{in: in, bare: map[string]string{}}
	if err := b.names(); err != nil {
		return "", err
	}
	var failed error
	return included.ReplaceAllStringFunc(text, func(found string) string {
		m := included.FindStringSubmatch(found)
		o := b.options([]string{m[2]})
		o.Splitting, o.Format, o.GlobalName = false, api.FormatIIFE, m[1]
		built := api.Build(o)
		if len(built.Errors) > 0 {
			failed = joinErrors(built.Errors)
			return found
		}
		return strings.TrimSuffix(string(built.OutputFiles[0].Contents), "\n")
	}), failed
}
