package memstore

import (
	"fmt"
	"unicode/utf8"
)

// The limits of an entry (spec/12-stores.md). MaxKeys is a number of keys, the others are numbers
// of characters.
const (
	MaxIdentifier = 512
	MaxKeys       = 32
	MaxKey        = 128
	MaxValue      = 65_536
)

// CheckEntry returns an error that names the limit which an entry exceeds, or nil.
func CheckEntry(identifier string, keys []string, val string) error {
	if n := utf8.RuneCountInString(identifier); n > MaxIdentifier {
		return fmt.Errorf("a ledger's identifier has at most %d characters, this one %d", MaxIdentifier, n)
	}
	if err := CheckKeys(keys); err != nil {
		return err
	}
	return CheckValue(val)
}

// CheckKeys returns an error that names the limit which the keys of an entry exceed, or nil.
func CheckKeys(keys []string) error {
	if len(keys) > MaxKeys {
		return fmt.Errorf("a ledger's entry has at most %d keys, this one %d", MaxKeys, len(keys))
	}
	for _, k := range keys {
		if n := utf8.RuneCountInString(k); n > MaxKey {
			return fmt.Errorf("a ledger's key has at most %d characters, this one %d", MaxKey, n)
		}
	}
	return nil
}

// CheckValue returns an error if an entry's value exceeds the limit.
func CheckValue(val string) error {
	if len(val) <= MaxValue {
		return nil
	}
	if n := utf8.RuneCountInString(val); n > MaxValue {
		return fmt.Errorf("a ledger's value has at most %d characters, this one %d", MaxValue, n)
	}
	return nil
}
