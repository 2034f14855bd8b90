//go:build !unix

package disk

// IsRemoved returns false, because only keepers need it, and this system has none.
func (osFile) IsRemoved() bool { return false }
