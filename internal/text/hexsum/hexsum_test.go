package hexsum

import "testing"

// TestSHA256 checks an example from FIPS 180-4.
func TestSHA256(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := SHA256("abc"); got != want {
		t.Error(got)
	}
	if got := SHA256([]byte("abc")); got != want {
		t.Error(got)
	}
}
