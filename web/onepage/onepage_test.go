package onepage

import (
	"bytes"
	"strings"
	"testing"
)

// TestReadData checks that the data of a page is read again, also in several chunks, and that other
// texts are errors.
func TestReadData(t *testing.T) {
	random := make([]byte, 3*chunkBytes) // does not compress
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	for name, data := range map[string][]byte{"empty": {}, "small": []byte(`{"a":"</script>"}`), "large": random} {
		var b bytes.Buffer
		if err := (&Page{Title: "<", Script: "1", Body: "x", Data: data}).Write(&b); err != nil {
			t.Fatal(err)
		}
		got, err := ReadData(b.Bytes(), int64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: read %d of %d bytes, error %v", name, len(got), len(data), err)
		}
		if len(data) > 0 {
			if _, err := ReadData(b.Bytes(), int64(len(data))-1); err == nil {
				t.Errorf("%s: data above the limit was read", name)
			}
		}
		if cut := strings.LastIndex(b.String(), `class="data">`); cut > 0 {
			if _, err := ReadData(b.Bytes()[:cut+30], 1<<30); err == nil {
				t.Errorf("%s: an incomplete page was read", name)
			}
		}
	}
}

func FuzzReadData(f *testing.F) {
	f.Add(`<script type="text/plain" class="data">H4sIAAAAAAAA/6quBQQAAP//Q7+mowIAAAA=</script>`)
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, page string) {
		if data, err := ReadData([]byte(page), 1<<20); err == nil && len(data) > 1<<20 {
			t.Error("more data than the limit was read")
		}
	})
}
