package ring

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has shared memory for rings.
const Supported = true

// Create returns a new ring, and a file with which another process opens it. The size of the file
// cannot be changed, so that an access to the memory cannot fail.
func Create() (*Ring, *os.File, error) {
	fd, err := unix.MemfdCreate("concerto-output", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("create shared memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "concerto-output")
	err = f.Truncate(headerSize + Size)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
	}
	var r *Ring
	if err == nil {
		r, err = open(f)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("create shared memory: %w", err), f.Close())
	}
	return r.init(), f, nil
}

const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Open opens a ring that another process has created.
func Open(f *os.File) (*Ring, error) {
	has, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr); err != nil {
		return nil, err
	}
	if has&seals != seals || info.Size() != headerSize+Size {
		return nil, ErrDamaged
	}
	return open(f)
}

func open(f *os.File) (*Ring, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, headerSize+Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return newRing(mem), nil
}

// Close ends this process's view. The ring must not be used afterwards.
func (r *Ring) Close() { _ = unix.Munmap(r.mem) } // it fails only for memory that is not mapped
