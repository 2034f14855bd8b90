//go:build !linux

package ring

import (
	"errors"
	"os"
)

// Supported reports whether this system has shared memory for rings.
const Supported = false

// Create returns an error, because this system has no shared memory for rings.
func Create() (*Ring, *os.File, error) { return nil, nil, errors.ErrUnsupported }

// Open returns an error, because this system has no shared memory for rings.
func Open(*os.File) (*Ring, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (r *Ring) Close() {}
