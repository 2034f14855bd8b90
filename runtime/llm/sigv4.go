package llm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// credentials are AWS's credentials.
type credentials struct {
	id, secret, token string // ID and secret of the key; token is "" for credentials that do not expire
}

// sign adds AWS's signature, version 4, to a request with the given body. It signs the headers for
// which the signature is required: the host, the content type and AWS's headers.
func (c *credentials) sign(r *http.Request, body []byte, region, service string, at time.Time) {
	stamp := at.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", stamp)
	if c.token != "" {
		r.Header.Set("X-Amz-Security-Token", c.token)
	}
	signed, headers := canonicalHeaders(r)
	canonical := strings.Join([]string{
		r.Method, canonicalPath(r.URL), canonicalQuery(r.URL), headers, signed, hexsum.SHA256(body),
	}, "\n")
	scope := strings.Join([]string{stamp[:8], region, service, "aws4_request"}, "/")
	key := []byte("AWS4" + c.secret)
	for _, part := range strings.Split(scope, "/") {
		key = authenticate(key, part)
	}
	signature := authenticate(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hexsum.SHA256([]byte(canonical)))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.id+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(signature))
}

// canonicalHeaders returns the names of the headers to sign, and one line for each header.
func canonicalHeaders(r *http.Request) (names, lines string) {
	values := map[string]string{"host": r.Host}
	for name, v := range r.Header {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			values[name] = strings.Join(strings.Fields(strings.Join(v, ",")), " ")
		}
	}
	var all []string
	for name := range values {
		all = append(all, name)
	}
	slices.Sort(all)
	var b strings.Builder
	for _, name := range all {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(all, ";"), b.String()
}

// canonicalPath returns the sent path, escaped a second time.
func canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		return "/"
	}
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
	}
	return b.String()
}

func canonicalQuery(u *url.URL) string {
	return strings.ReplaceAll(u.Query().Encode(), "+", "%20")
}

func authenticate(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
