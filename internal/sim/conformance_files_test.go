package sim

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// put writes a file, and content checks what one contains.
func (m *machine) put(name, text string) { returns("Put", m.files.Put(name, []byte(text)), nil) }

func (m *machine) content(name, want string) {
	same("content of "+name, string(must(m.files.Read(name))), want)
}

// open opens a file that exists, or creates it.
func (m *machine) open(name string, flags int) disk.File {
	f := must(m.files.Open(name, flags|os.O_CREATE, 0o600))
	m.opened = append(m.opened, f)
	return f
}

func (m *machine) names(want ...string) { same("List", must(m.files.List(".")), want) }

// reads checks what a handle reads at its position.
func reads(f io.Reader, size int, want string) {
	b := make([]byte, size)
	same("Read", string(b[:must(f.Read(b))]), want)
}

func writes(f io.Writer, text string) { same("Write", must(f.Write([]byte(text))), len(text)) }

func position(f io.Seeker, want int64) { same("position", must(f.Seek(0, io.SeekCurrent)), want) }

// fileRules are the rules of names, directories and whole files.
var fileRules = []rule{
	{"List is sorted, and contains directories", func(m *machine) {
		m.put("b", "")
		returns("Dir", m.files.Dir("c"), nil)
		m.put("a", "")
		m.put("c/d", "")
		m.names("a", "b", "c")
		same("List(c)", must(m.files.List("c")), []string{"d"})
	}},
	{"a missing directory has no names", func(m *machine) {
		same("List(missing)", must(m.files.List("missing")), nil)
	}},
	{"List of a file fails with ENOTDIR", func(m *machine) {
		m.put("f", "")
		_, err := m.files.List("f")
		returns("List(f)", err, syscall.ENOTDIR)
	}},
	{"Dir creates missing parents, and may be repeated", func(m *machine) {
		for range 2 {
			returns("Dir", m.files.Dir("a/b/c"), nil)
		}
		same("List(a/b)", must(m.files.List("a/b")), []string{"c"})
	}},
	{"Dir of a file, and below one, fails with ENOTDIR", func(m *machine) {
		m.put("f", "")
		for _, name := range []string{"f", "f/d", "f/d/e"} {
			returns("Dir("+name+")", m.files.Dir(name), syscall.ENOTDIR)
		}
	}},
	{"every call with a name below a file fails with ENOTDIR", func(m *machine) {
		m.put("f", "")
		for _, name := range []string{"f/x", "f/x/y"} {
			_, read := m.files.Read(name)
			_, stat := m.files.Stat(name)
			_, list := m.files.List(name)
			_, open := m.files.Open(name, os.O_RDONLY, 0)
			_, create := m.files.Open(name, os.O_WRONLY|os.O_CREATE, 0o600)
			_, _, add := m.files.Append(name)
			put, remove, sync := m.files.Put(name, nil), m.files.Remove(name), m.files.SyncDir(name)
			for i, err := range []error{read, stat, list, open, create, add, put, remove, sync} {
				returns([]string{"Read", "Stat", "List", "Open", "creating", "Append", "Put", "Remove", "SyncDir"}[i]+" of "+name, err, syscall.ENOTDIR)
			}
		}
	}},
	{"every call with a missing name but Remove fails with fs.ErrNotExist", func(m *machine) {
		for _, name := range []string{"x", "x/y"} {
			_, read := m.files.Read(name)
			_, stat := m.files.Stat(name)
			_, open := m.files.Open(name, os.O_RDWR, 0)
			for i, err := range []error{read, stat, open, m.files.SyncDir(name)} {
				returns([]string{"Read", "Stat", "Open", "SyncDir"}[i]+" of "+name, err, fs.ErrNotExist)
			}
			returns("Remove", m.files.Remove(name), nil)
		}
	}},
	{"a file in a missing directory is not created", func(m *machine) {
		_, open := m.files.Open("d/f", os.O_WRONLY|os.O_CREATE, 0o600)
		_, lock := m.files.Lock("d/f", nil)
		for i, err := range []error{open, m.files.Put("d/f", nil), m.files.Make("d/f", nil), lock} {
			returns([]string{"Open", "Put", "Make", "Lock"}[i], err, fs.ErrNotExist)
		}
		m.names()
	}},
	{"Put creates a file, and replaces one", func(m *machine) {
		m.put("f", "a longer text")
		m.content("f", "a longer text")
		m.put("f", "short")
		m.content("f", "short")
		m.names("f")
	}},
	{"Put over a directory fails with fs.ErrExist, and leaves no file", func(m *machine) {
		returns("Dir", m.files.Dir("d"), nil)
		returns("Put", m.files.Put("d", nil), fs.ErrExist)
		m.names("d")
		same("IsDir", must(m.files.Stat("d")).IsDir(), true)
	}},
	{"Make creates a file, and fails with fs.ErrExist if it exists", func(m *machine) {
		returns("Make", m.files.Make("f", []byte("one")), nil)
		returns("Make", m.files.Make("f", []byte("two")), fs.ErrExist)
		returns("Dir", m.files.Dir("d"), nil)
		returns("Make", m.files.Make("d", nil), fs.ErrExist)
		m.content("f", "one")
		m.names("d", "f")
	}},
	{"Remove removes a file and an empty directory, but none with files", func(m *machine) {
		returns("Dir", m.files.Dir("d"), nil)
		m.put("d/f", "")
		returns("Remove(d)", m.files.Remove("d"), syscall.ENOTEMPTY)
		returns("Remove(d/f)", m.files.Remove("d/f"), nil)
		returns("Remove(d)", m.files.Remove("d"), nil)
		m.names()
	}},
	{"Read of a directory fails with EISDIR", func(m *machine) {
		_, err := m.files.Read(".")
		returns("Read", err, syscall.EISDIR)
	}},
	{"Stat describes a file and a directory, which only their owner can access", func(m *machine) {
		f := m.open("f", os.O_WRONLY)
		writes(f, "four")
		info := must(m.files.Stat("f"))
		same("name, size and mode", []any{info.Name(), info.Size(), info.Mode()}, []any{"f", int64(4), fs.FileMode(0o600)})
		returns("Dir", m.files.Dir("d"), nil)
		info = must(m.files.Stat("d"))
		same("name and mode", []any{info.Name(), info.Mode(), info.IsDir()}, []any{"d", fs.ModeDir | 0o700, true})
	}},
	{"SyncDir syncs a directory, and succeeds for a file", func(m *machine) {
		m.put("f", "")
		returns("SyncDir", errors.Join(m.files.SyncDir("."), m.files.SyncDir("f")), nil)
	}},
	{"O_EXCL creates a file once", func(m *machine) {
		for _, want := range []error{nil, fs.ErrExist} {
			_, err := m.files.Open("f", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			returns("Open", err, want)
		}
	}},
	{"O_CREATE opens a file that exists, and O_TRUNC makes it empty", func(m *machine) {
		m.put("f", "text")
		reads(m.open("f", os.O_RDONLY), 9, "text")
		m.open("f", os.O_WRONLY|os.O_TRUNC)
		m.content("f", "")
	}},
	{"Open of a directory fails with EISDIR", func(m *machine) {
		for _, flags := range []int{os.O_RDONLY, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_EXCL} {
			_, err := m.files.Open(".", flags, 0o600)
			returns("Open", err, syscall.EISDIR)
		}
	}},
	{"a removed file can be read and written by who has opened it", func(m *machine) {
		m.put("f", "text")
		f := m.open("f", os.O_RDWR)
		same("IsRemoved", f.IsRemoved(), false)
		returns("Remove", m.files.Remove("f"), nil)
		same("IsRemoved", f.IsRemoved(), true)
		reads(f, 9, "text")
		writes(f, " and more")
		m.names()
		m.put("f", "a new file")
		same("IsRemoved", f.IsRemoved(), true)
		same("ReadAt", must(f.ReadAt(make([]byte, 13), 0)), 13)
	}},
	{"who has opened a file does not notice that Put replaces it", func(m *machine) {
		m.put("f", "old")
		f := m.open("f", os.O_RDWR)
		m.put("f", "new")
		reads(f, 9, "old")
		same("IsRemoved", f.IsRemoved(), true)
		writes(f, "er")
		m.content("f", "new")
	}},
}

// handleRules are the rules of open files.
var handleRules = []rule{
	{"Append returns the size, and writes at the end whatever others write", func(m *machine) {
		m.put("f", "one ")
		f, size, err := m.files.Append("f")
		same("Append", []any{size, err}, []any{int64(4), nil})
		other, _, err := m.files.Append("f")
		returns("Append", err, nil)
		writes(other, "two ")
		writes(f, "three")
		position(f, 13)
		m.content("f", "one two three")
		returns("Truncate", f.Truncate(4), nil)
		writes(f, "four")
		m.content("f", "one four")
	}},
	{"WriteAt fails for a file that is open for appending", func(m *machine) {
		f, _, _ := m.files.Append("f")
		_, err := f.WriteAt([]byte("x"), 0)
		fails("WriteAt", err)
		m.content("f", "")
	}},
	{"Read returns a file in parts, and then io.EOF", func(m *machine) {
		m.put("f", "abcde")
		f := m.open("f", os.O_RDONLY)
		for _, part := range []string{"ab", "cd", "e"} {
			reads(f, 2, part)
		}
		for range 2 {
			_, err := f.Read(make([]byte, 2))
			returns("Read", err, io.EOF)
		}
		same("Read of no bytes", must(f.Read(nil)), 0)
	}},
	{"ReadAt returns io.EOF with the last bytes, and does not move the position", func(m *machine) {
		m.put("f", "abcde")
		f := m.open("f", os.O_RDONLY)
		b := make([]byte, 3)
		same("ReadAt(1)", []any{must(f.ReadAt(b, 1)), string(b)}, []any{3, "bcd"})
		for at, want := range map[int64]int{3: 2, 5: 0, 9: 0} {
			n, err := f.ReadAt(b, at)
			same("ReadAt", n, want)
			returns("ReadAt", err, io.EOF)
		}
		position(f, 0)
	}},
	{"WriteAt replaces bytes, and does not move the position", func(m *machine) {
		m.put("f", "abcde")
		f := m.open("f", os.O_RDWR)
		same("WriteAt", must(f.WriteAt([]byte("XY"), 2)), 2)
		position(f, 0)
		writes(f, "Z")
		m.content("f", "ZbXYe")
	}},
	{"Seek counts from the start, the position and the end", func(m *machine) {
		m.put("f", "abcde")
		f := m.open("f", os.O_RDONLY)
		same("Seek(2, start)", must(f.Seek(2, io.SeekStart)), 2)
		same("Seek(1, current)", must(f.Seek(1, io.SeekCurrent)), 3)
		same("Seek(-1, end)", must(f.Seek(-1, io.SeekEnd)), 4)
		reads(f, 9, "e")
	}},
	{"a negative position or size is an error, and changes nothing", func(m *machine) {
		m.put("f", "abcde")
		f := m.open("f", os.O_RDWR)
		_, err := f.Seek(-1, io.SeekStart)
		returns("Seek", err, syscall.EINVAL)
		returns("Truncate", f.Truncate(-1), syscall.EINVAL)
		_, err = f.ReadAt(make([]byte, 1), -1)
		fails("ReadAt", err)
		_, err = f.WriteAt(make([]byte, 1), -1)
		fails("WriteAt", err)
		position(f, 0)
		m.content("f", "abcde")
	}},
	{"a write after the end fills the gap with zeros, unless it writes nothing", func(m *machine) {
		m.put("f", "ab")
		f := m.open("f", os.O_RDWR)
		same("Seek", must(f.Seek(4, io.SeekStart)), 4)
		_, err := f.Read(make([]byte, 1))
		returns("Read", err, io.EOF)
		writes(f, "")
		m.content("f", "ab")
		writes(f, "c")
		m.content("f", "ab\x00\x00c")
	}},
	{"Truncate shortens a file, or extends it by zeros, and does not move the position", func(m *machine) {
		f := m.open("f", os.O_RDWR)
		writes(f, "abcde")
		returns("Truncate", f.Truncate(2), nil)
		m.content("f", "ab")
		position(f, 5)
		returns("Truncate", f.Truncate(4), nil)
		m.content("f", "ab\x00\x00")
		writes(f, "f")
		m.content("f", "ab\x00\x00\x00f")
	}},
	{"what is open for reading cannot be written", func(m *machine) {
		m.put("f", "text")
		f := m.open("f", os.O_RDONLY)
		_, err := f.Write([]byte("x"))
		returns("Write", err, syscall.EBADF)
		_, err = f.WriteAt([]byte("x"), 0)
		returns("WriteAt", err, syscall.EBADF)
		returns("Truncate", f.Truncate(0), syscall.EINVAL)
		m.content("f", "text")
		returns("Sync", f.Sync(), nil)
	}},
	{"what is open for writing cannot be read", func(m *machine) {
		m.put("f", "text")
		f := m.open("f", os.O_WRONLY)
		_, err := f.Read(make([]byte, 1))
		returns("Read", err, syscall.EBADF)
		_, err = f.ReadAt(make([]byte, 1), 0)
		returns("ReadAt", err, syscall.EBADF)
	}},
	{"calls of a closed file fail with fs.ErrClosed, but Sync and Lock with EBADF", func(m *machine) {
		f := m.open("f", os.O_RDWR)
		returns("Close", errors.Join(f.Sync(), f.Close()), nil)
		_, read := f.Read(make([]byte, 1))
		_, readAt := f.ReadAt(make([]byte, 1), 0)
		_, write := f.Write([]byte("x"))
		_, writeAt := f.WriteAt([]byte("x"), 0)
		_, seek := f.Seek(0, io.SeekStart)
		for i, err := range []error{read, readAt, write, writeAt, seek, f.Truncate(0), f.Close()} {
			returns([]string{"Read", "ReadAt", "Write", "WriteAt", "Seek", "Truncate", "Close"}[i], err, fs.ErrClosed)
		}
		returns("Sync", f.Sync(), syscall.EBADF)
		returns("Lock", f.Lock(), syscall.EBADF)
	}},
	{"two handles of a file have their own positions, and the same content", func(m *machine) {
		a, b := m.open("f", os.O_RDWR), m.open("f", os.O_RDWR)
		writes(a, "abc")
		reads(b, 2, "ab")
		writes(b, "X")
		position(a, 3)
		m.content("f", "abX")
	}},
}

// unknown is the holder of a lock whose process number is not known.
func unknown() int { return 0 }

// lock locks the file "lock" as Files.Lock does.
func (m *machine) lock() (unlock func() error, err error) {
	unlock, err = m.files.Lock("lock", unknown)
	m.opened = append(m.opened, unlock)
	return unlock, err
}

func (m *machine) isLocked(want bool) {
	same("IsLocked", must(m.files.IsLocked("lock")), want)
}

// lockRules are the rules of locks.
var lockRules = []rule{
	{"a missing file is not locked, and IsLocked does not create it", func(m *machine) {
		m.isLocked(false)
		m.names()
	}},
	{"Lock creates a file and locks it until unlock, which leaves the file", func(m *machine) {
		unlock := must(m.lock())
		m.isLocked(true)
		returns("unlock", unlock(), nil)
		m.isLocked(false)
		m.names("lock")
		must(m.lock())
	}},
	{"a second lock of the same process fails with ErrHeld", func(m *machine) {
		must(m.lock())
		_, err := m.lock()
		returns("Lock", err, lockfile.ErrHeld)
	}},
	{"a lock of another process is held, and ends with that process", func(m *machine) {
		c := m.start("lock")
		same("line of the child", nextLine(c), "locked")
		m.isLocked(true)
		_, err := m.lock()
		returns("Lock", err, lockfile.ErrHeld)
		_, held := errors.AsType[*lockfile.HeldError](m.open("lock", os.O_RDWR).Lock())
		same("Lock fails with a HeldError", held, true)
		c.End(0, nil)
		m.isLocked(false)
		must(m.lock())
	}},
	{"a process that exits releases its locks", func(m *machine) {
		c := m.start("lock")
		same("line of the child", nextLine(c), "locked")
		c.CloseInput()
		same("exit code", c.Exit().Code, 0)
		must(m.lock())
	}},
	{"Lock of an open file is held until it is closed", func(m *machine) {
		f, other := m.open("lock", os.O_RDWR), m.open("lock", os.O_RDONLY)
		for range 2 { // a file does not lock out itself
			returns("Lock", f.Lock(), nil)
		}
		m.isLocked(true)
		_, held := errors.AsType[*lockfile.HeldError](other.Lock())
		same("Lock fails with a HeldError", held, true)
		same("line of the child", nextLine(m.start("lock")), lockfile.ErrHeld.Error())
		returns("Close", f.Close(), nil)
		m.isLocked(false)
		returns("Lock", other.Lock(), nil)
	}},
	{"a closed handle leaves the lock of another one of the same process", func(m *machine) {
		f, other := m.open("lock", os.O_RDWR), m.open("lock", os.O_RDWR)
		returns("Lock", f.Lock(), nil)
		fails("Lock", other.Lock())
		returns("Close", other.Close(), nil)
		m.isLocked(true)
	}},
	{"a lock belongs to a file and not to its name", func(m *machine) {
		f := m.open("lock", os.O_RDWR)
		returns("Lock", f.Lock(), nil)
		returns("Remove", m.files.Remove("lock"), nil)
		m.isLocked(false)
		unlock := must(m.lock())
		returns("Close", f.Close(), nil)
		m.isLocked(true)
		returns("unlock", unlock(), nil)
	}},
}
