package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// The placeholders in HTML files of Root. OpenApart replaces them.
const (
	integrityMap = "<!--integrity-->" // the hashes of all modules
	serverName   = "<!--server-->"    // the server, if the page has another origin
)

// IntegrityPolicy is the header by which browsers refuse scripts without a known hash.
const IntegrityPolicy = "blocked-destinations=(script)"

// loaded matches the attribute by which an HTML file loads a script or a style.
var loaded = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:href|src)="/assets/BUILD/([^"]+\.(?:js|css))"`)
})

// secure adds the hash of each script and style to an HTML file: for those that it loads itself as
// an attribute, and for all modules as an import map, which browsers also apply to modules that are
// loaded later.
func (d *Dist) secure(f *file) error {
	text := f.content[""]
	if !bytes.Contains(text, []byte(integrityMap)) {
		return nil
	}
	var failed error
	text = loaded().ReplaceAllFunc(text, func(found []byte) []byte {
		name := string(loaded().FindSubmatch(found)[1])
		asset := d.files[d.Asset(name)]
		if asset == nil {
			failed = fmt.Errorf("it loads %s, which is not built", name)
			return found
		}
		return fmt.Appendf(nil, `%s integrity=%q`, found, asset.integrity())
	})
	hashes := map[string]string{}
	for _, name := range d.assets {
		if path.Ext(name) == ".js" {
			hashes[d.urlOf(name)] = d.files[name].integrity()
		}
	}
	imports, err := json.Marshal(map[string]any{"integrity": hashes})
	if err != nil {
		return err
	}
	f.policy = d.policy(imports)
	text = bytes.Replace(text, []byte(integrityMap), fmt.Appendf(nil, `<script type="importmap">%s</script>`, imports), 1)
	f.content[""] = bytes.Replace(text, []byte(serverName), d.serverTags(f.policy), 1)
	return failed
}

// urlOf returns how an HTML file refers to a path of the page.
func (d *Dist) urlOf(name string) string {
	if d.server == "" {
		return name
	}
	return "." + name
}

// relative makes the paths in an HTML file relative.
func (d *Dist) relative(text []byte) []byte {
	if d.server == "" {
		return text
	}
	text = bytes.ReplaceAll(text, []byte(`href="/`), []byte(`href="./`))
	return bytes.ReplaceAll(text, []byte(`src="/`), []byte(`src="./`))
}

// policy returns the content security policy of an HTML file with inline scripts.
func (d *Dist) policy(inline ...[]byte) string {
	script := "script-src 'self'"
	for _, text := range inline {
		script += " " + hashSource(text)
	}
	policy := strings.Replace(Policy, "script-src 'self'", script, 1)
	if d.server != "" {
		policy = strings.Replace(policy, "connect-src 'self'", "connect-src 'self' "+d.server+" "+strings.Replace(d.server, "http", "ws", 1), 1)
	}
	return policy
}

// hashSource returns the hash of an inline script or style in the form of a policy.
func hashSource(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// serverTags returns the elements that name the server of a page with another origin. A static site
// sends no security headers, so they contain the policy.
func (d *Dist) serverTags(policy string) []byte {
	if d.server == "" {
		return nil
	}
	policy, _, _ = strings.Cut(policy, "; frame-ancestors") // browsers ignore it in an element
	return fmt.Appendf(nil, "<meta http-equiv=\"Content-Security-Policy\" content=%q>\n<meta name=\"concerto-relay\" content=%q>", policy, d.server)
}

// integrity returns the hash of a file in the form of the attribute integrity.
func (f *file) integrity() string {
	return strings.Trim(hashSource(f.content[""]), "'")
}

// Files returns the files of the page by URL path, uncompressed.
func (d *Dist) Files() map[string][]byte {
	all := map[string][]byte{}
	for name, f := range d.files {
		if name != "/" {
			all[name] = f.content[""]
		}
	}
	return all
}
