package llm

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSignature signs requests for which AWS publishes the signatures: two requests of its test
// suite, and the example in its manual.
func TestSignature(t *testing.T) {
	c := credentials{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	for _, v := range []struct{ method, url, kind, service, signed, want string }{
		{"GET", "https://example.amazonaws.com/", "", "service", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"POST", "https://example.amazonaws.com/", "", "service", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "application/x-www-form-urlencoded; charset=utf-8", "iam",
			"content-type;host;x-amz-date", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
	} {
		r, err := http.NewRequest(v.method, v.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = r.URL.Host
		if v.kind != "" {
			r.Header.Set("Content-Type", v.kind)
		}
		c.sign(r, nil, "us-east-1", v.service, at)
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/" + v.service + "/aws4_request, SignedHeaders=" + v.signed + ", Signature=" + v.want
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("header Authorization of %s %s:\n%s\nwant\n%s", v.method, v.url, got, want)
		}
	}
}

// TestSignedPath checks that the signature uses the sent path, escaped a second time.
func TestSignedPath(t *testing.T) {
	for path, want := range map[string]string{
		"":                              "/",
		"/model/amazon.nova%3A0/invoke": "/model/amazon.nova%253A0/invoke",
		"/model/a:0/b~c":                "/model/a%3A0/b~c",
	} {
		r, err := http.NewRequest("POST", "https://example.com"+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		if got := canonicalPath(r.URL); got != want {
			t.Errorf("canonicalPath of %s = %s, want %s", path, got, want)
		}
	}
}
