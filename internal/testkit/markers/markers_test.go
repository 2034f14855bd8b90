package markers_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/markers"
)

func TestIn(t *testing.T) {
	for _, before := range []string{"", "x", "xy", "xyz"} {
		long := []byte(before + markers.Text + "z")
		for form, text := range map[string]string{"plain": string(long), "hexadecimal": hex.EncodeToString(long), "base64": base64.RawURLEncoding.EncodeToString(long),
			"UTF-16": strings.Join(strings.Split(string(long), ""), "\x00") + "\x00"} {
			if got := markers.In([]byte(text), markers.Text); len(got) != 1 || !strings.HasPrefix(got[0], form) {
				t.Errorf("forms in %q = %q, want %s", text, got, form)
			}
		}
	}
	if got := markers.In([]byte("kingfisher flies low"), markers.Text); len(got) != 0 {
		t.Errorf("forms in another text = %q", got)
	}
}
