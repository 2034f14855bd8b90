package journal

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

var sumMember = []byte(`,"sum":"`)

// Seal encodes an object as a line of JSON whose last member is the SHA-256 of the text before it.
func Seal(v any) ([]byte, error) {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return nil, err
	}
	open := bytes.TrimSuffix(text, []byte("}"))
	return fmt.Appendf(nil, "%s%s%s\"}\n", open, sumMember, hexsum.SHA256(open)), nil
}

// IsSealed reports whether a text contains a member that Seal adds. Older versions wrote none.
func IsSealed(text []byte) bool { return bytes.Contains(text, sumMember) }

// CheckSeal returns an error if a line does not have the form of Seal or its sum is wrong.
func CheckSeal(text []byte) error {
	at := bytes.LastIndex(text, sumMember)
	if at < 0 {
		return errors.New("it is cut off")
	}
	if want := string(sumMember) + hexsum.SHA256(text[:at]) + "\"}\n"; string(text[at:]) != want {
		return errors.New("its SHA-256 does not match")
	}
	return nil
}
