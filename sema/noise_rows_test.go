package sema

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// TestNoiseIsRead checks that the checker reads each reason of diag.Noise that an entry has.
func TestNoiseIsRead(t *testing.T) {
	const others = diag.NotNoise | diag.AfterLostName | diag.AfterLostHeader | diag.InFlawedBody
	for _, info := range diag.Catalogue() {
		rest, rows := info.Noise&^others, 0
		for _, f := range flawedNodes {
			if rest.Has(f.reason) {
				rest, rows = rest&^f.reason, rows+1
			}
		}
		if rest != 0 || rows > 1 {
			t.Errorf("%s (%s): rows of flawedNodes for its Noise = %d, reasons without a row = %b, want at most 1 and 0", info.Code, info.Title, rows, rest)
		}
	}
}
