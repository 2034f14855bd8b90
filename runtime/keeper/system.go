package keeper

import (
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/procgroup/nonblock"
	"github.com/concerto-lang/concerto/runtime/keeper/ring"
)

// System is what a keeper and its clients use of the operating system. Simulations replace it.
type System interface {
	// Files returns the files in the directory of a run.
	Files(dir string) disk.Files
	// Boot returns the id of the machine's current boot. If it is "", a client must try to connect
	// to determine whether a keeper is running.
	Boot() string
	// Listen creates a socket in a directory. It returns the path at to pass to Dial.
	Listen(dir, name string) (l Listener, at string, err error)
	// Dial connects to a socket. If no process listens, the error is ECONNREFUSED or ENOENT.
	Dial(dir, at string) (Socket, error)
	// Launch starts a keeper, which reads spec from its standard input, and decodes the first line
	// of its standard output into ready. The error wraps holder.ErrKilled if a signal killed the
	// keeper before.
	Launch(o *Options, spec, ready any) error
	// Start starts a host. start starts a process in the host's sandbox.
	Start(c procgroup.Command, start func(procgroup.Command) (*procgroup.Process, error)) (Child, error)
	// Terminated returns a channel that receives a value when this process must end. From now on
	// it ignores the signals of terminals.
	Terminated() <-chan os.Signal
}

// Listener accepts the connections of a keeper. After Close, Accept returns an error.
type Listener interface {
	Accept() (Socket, error)
	Close() error
}

// Socket is a connection between a keeper and a client. One goroutine at a time may read it.
type Socket interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
	// WriteNow writes as many bytes as possible without waiting, and returns their number. After an
	// error, which the next read or write returns, it returns 0.
	WriteNow(b []byte) int
	// PassesFiles reports whether SendFiles can send files.
	PassesFiles() bool
	SendFiles(text []byte, fds ...int) error
	// ReceiveByte reads one byte, and the files that were sent with it.
	ReceiveByte() (b byte, files []*os.File, err error)
}

// Child is a host process as the keeper uses it. The methods of procgroup.Process have the same
// meaning here.
type Child interface {
	io.ReadWriter // of its standard output and input
	CloseInput()
	Pid() int
	WriteNow(b []byte) int
	Unread() int
	Written() int64
	InterruptRead()
	ResumeRead()
	LendOutput() (fd int, err error)
	ReclaimOutput(n int64)
	GroupDone() <-chan struct{}
	Exit() procgroup.Exit
	Stderr() string
	End(grace time.Duration, stop <-chan struct{})
}

// OS returns the real operating system.
func OS() System { return system{} }

// system is the real operating system.
type system struct{}

func (system) Files(dir string) disk.Files { return disk.At(dir) }

func (system) Boot() string { return bootID() }

func (system) Listen(dir, name string) (Listener, string, error) {
	l, at, err := holder.Listen(dir, name)
	if err != nil {
		return nil, "", err
	}
	return listener{l}, at, nil
}

type listener struct{ net.Listener }

func (l listener) Accept() (Socket, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newSocket(conn.(*net.UnixConn))
}

func (system) Dial(dir, at string) (Socket, error) {
	conn, err := holder.Dial(dir, at)
	if err != nil {
		return nil, err
	}
	return newSocket(conn)
}

// Launch starts a keeper, which receives no environment except that in Options.
func (system) Launch(o *Options, spec, ready any) error {
	cmd := &exec.Cmd{Path: o.Executable, Args: append([]string{"concerto"}, o.Args...), Env: append([]string{"GOMAXPROCS=2"}, o.Env...)}
	return holder.Launch(cmd, filepath.Join(o.Dir, logFile), spec, ready)
}

func (system) Start(c procgroup.Command, start func(procgroup.Command) (*procgroup.Process, error)) (Child, error) {
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	return child{p}, nil
}

func (system) Terminated() <-chan os.Signal {
	procgroup.Discard(syscall.SIGINT, hangup)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	return stop
}

// child is a process of the operating system.
type child struct{ *procgroup.Process }

func (c child) Read(b []byte) (int, error) { return c.Stdout.Read(b) }

func (c child) Write(b []byte) (int, error) { return c.Stdin.Write(b) }

// CloseInput ignores the error, which only means that the input is already closed.
func (c child) CloseInput() { _ = c.Stdin.Close() }

// socket is a Unix socket.
type socket struct {
	*net.UnixConn
	in  io.Reader // reads from UnixConn
	raw syscall.RawConn
}

// newSocket returns a connection as a Socket. After an error, the connection is closed.
func newSocket(conn *net.UnixConn) (Socket, error) {
	s := &socket{UnixConn: conn}
	var err error
	if s.raw, err = conn.SyscallConn(); err == nil {
		s.in, err = nonblock.NewReader(conn)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *socket) Read(b []byte) (int, error) { return s.in.Read(b) }

func (s *socket) WriteNow(b []byte) (n int) {
	_ = s.raw.Write(func(fd uintptr) bool { // the next read or write returns the same error
		n = writeNow(fd, b)
		return true
	})
	return n
}

func (s *socket) PassesFiles() bool { return ring.Supported }

func (s *socket) SendFiles(text []byte, fds ...int) error { return sendFiles(s.UnixConn, text, fds...) }

func (s *socket) ReceiveByte() (byte, []*os.File, error) { return readByte(s.UnixConn) }
