package arch

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestPicture checks that the picture matches the policy, is well-formed, and has a box for every
// drawn package.
func TestPicture(t *testing.T) {
	randtest.InOneGoroutine(t)
	const file = "../../docs/packages.svg"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != Picture() {
		t.Errorf("%s does not match the policy: run make arch", file)
	}
	texts := map[string]bool{}
	d := xml.NewDecoder(strings.NewReader(string(text)))
	var within string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			within = x.Name.Local
		case xml.CharData:
			if within == "text" {
				texts[string(x)] = true
			}
		}
	}
	for _, r := range Policy {
		if isDrawn(r) && !texts[name(r.Package)] {
			t.Errorf("%s contains no box for %q", file, r.Package)
		}
	}
}
