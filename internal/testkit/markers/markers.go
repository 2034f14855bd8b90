// Package markers finds a text in data that must not contain it, also in another encoding.
package markers

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// Text is a marker: its base64 is part of that of a longer text at one of three offsets.
const Text = "kingfisherflieslow"

// forms returns the forms in which a marker could be in data.
func forms(marker string) map[string][]byte {
	all := map[string][]byte{"plain": []byte(marker), "hexadecimal": []byte(hex.EncodeToString([]byte(marker)))}
	for i := range 3 {
		text := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", i) + marker))
		all[fmt.Sprintf("base64 at %d", i)] = []byte(text[4*((i+2)/3) : len(text)-4])
	}
	for _, u := range utf16.Encode([]rune(marker)) {
		all["UTF-16"] = append(all["UTF-16"], byte(u), byte(u>>8))
	}
	return all
}

// In returns the forms of a marker that data contains, in order.
func In(data []byte, marker string) []string {
	all := forms(marker)
	maps.DeleteFunc(all, func(_ string, text []byte) bool { return !bytes.Contains(data, text) })
	return slices.Sorted(maps.Keys(all))
}
