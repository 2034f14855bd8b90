package sim

import (
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// programs are what children run. The result is the exit code.
var programs = map[string]func(m *machine, x stdio) int{
	"echo": func(_ *machine, x stdio) int { // writes each line that it reads, and its end
		for text, ok := x.readLine(); ok; text, ok = x.readLine() {
			x.send("%s", text)
		}
		x.send("end")
		return 0
	},
	"hang": func(m *machine, _ stdio) int {
		m.hang()
		return 1
	},
	"print": func(_ *machine, x stdio) int {
		x.send("one")
		x.send("two")
		return 3
	},
	"lock": func(m *machine, x stdio) int { // holds a lock until its input ends
		if _, err := m.lock(); err != nil {
			x.send("%v", err)
			return 1
		}
		x.send("locked")
		x.readLine()
		return 0
	},
	"put": func(m *machine, x stdio) int {
		m.put("f", "of the child")
		x.send("%s", m.Boot())
		return 0
	},
	"listen": func(m *machine, x stdio) int {
		m.listen("door")
		x.send("listens")
		m.hang()
		return 1
	},
	"dial": func(m *machine, _ stdio) int { // connects, and exits when the connection ends
		m.dial("door").Read(make([]byte, 1))
		return 0
	},
	"parent": func(m *machine, x stdio) int { // leaves a child when its input ends
		m.start("dial")
		x.readLine()
		return 0
	},
}

// pipeRules are the rules of the standard input and output of children.
var pipeRules = []rule{
	{"a child reads what was written, and its parent what it has answered", func(m *machine) {
		c := m.start("echo")
		for _, text := range []string{"one\n", "two\n"} {
			writes(c, text)
			same("answer", nextLine(c)+"\n", text)
		}
	}},
	{"CloseInput ends the input of a child after what was written", func(m *machine) {
		c := m.start("echo")
		writes(c, "one\ntwo\n")
		c.CloseInput()
		same("output", string(must(io.ReadAll(c))), "one\ntwo\nend\n")
	}},
	{"a write after CloseInput fails with fs.ErrClosed, and WriteNow writes nothing", func(m *machine) {
		c := m.start("hang")
		same("WriteNow", c.WriteNow([]byte("x")), 1)
		c.CloseInput()
		c.CloseInput()
		_, err := c.Write([]byte("x"))
		returns("Write", err, fs.ErrClosed)
		same("WriteNow", c.WriteNow([]byte("x")), 0)
	}},
	{"a write to a child that has exited fails with EPIPE, and WriteNow writes nothing", func(m *machine) {
		c := m.start("print")
		<-c.GroupDone()
		same("WriteNow", c.WriteNow([]byte("x")), 0)
		_, err := c.Write([]byte("x"))
		returns("Write", err, syscall.EPIPE)
	}},
	{"output can be read after the exit of its child, and then io.EOF", func(m *machine) {
		c := m.start("print")
		<-c.GroupDone()
		same("Written", c.Written(), 8)
		same("output", nextLine(c)+" "+nextLine(c), "one two")
		for range 2 {
			_, err := c.Read(make([]byte, 1))
			returns("Read", err, io.EOF)
		}
	}},
	{"InterruptRead ends a Read that waits, and ResumeRead permits the next one", func(m *machine) {
		c := m.start("echo")
		ended := waits(m, func() error {
			_, err := c.Read(make([]byte, 1))
			return err
		})
		c.InterruptRead()
		returns("Read", <-ended, os.ErrDeadlineExceeded)
		c.ResumeRead()
		writes(c, "x\n")
		same("line", nextLine(c), "x")
	}},
	{"an interrupted Read fails although output has arrived, until the child has exited", func(m *machine) {
		c := m.start("echo")
		writes(c, "xy\n")
		reads(c, 1, "x") // the rest of the line has arrived, too
		c.InterruptRead()
		_, err := c.Read(make([]byte, 1))
		returns("Read", err, os.ErrDeadlineExceeded)
		c.ResumeRead()
		reads(c, 1, "y")
		c.InterruptRead()
		c.CloseInput()
		<-c.GroupDone()
		same("output", string(must(io.ReadAll(c))), "\nend\n")
	}},
	{"Written counts output that was not read, too", func(m *machine) {
		c := m.start("echo")
		same("Written", c.Written(), 0)
		writes(c, "abc\n")
		reads(c, 1, "a")
		same("Written", c.Written(), 4)
	}},
	{"Unread counts what a child has not read, also after its exit", func(m *machine) {
		c := m.start("echo")
		writes(c, "abc\n")
		same("line", nextLine(c), "abc")
		same("Unread", c.Unread(), 0)
		c = m.start("hang")
		writes(c, "abc\n")
		same("Unread", c.Unread(), 4)
		c.End(0, nil)
		same("Unread", c.Unread(), 4)
	}},
	{"Unread is not known after CloseInput", func(m *machine) {
		c := m.start("hang")
		writes(c, "abc\n")
		c.CloseInput()
		same("Unread", c.Unread(), -1)
	}},
}

// processRules are the rules of children.
var processRules = []rule{
	{"a child ends with the exit code that it returns", func(m *machine) {
		c := m.start("print")
		same("Exit", c.Exit(), procgroup.Exit{Code: 3})
		<-c.GroupDone()
	}},
	{"the exit of a child that a signal ends has 128 plus its number, and its name", func(m *machine) {
		c := m.start("hang")
		c.End(time.Hour, nil)
		same("Exit", c.Exit(), procgroup.Exit{Code: 143, Signal: syscall.SIGTERM.String()})
	}},
	{"a child that has exited does not change by End", func(m *machine) {
		c := m.start("print")
		<-c.GroupDone()
		c.End(time.Hour, nil)
		same("Exit", c.Exit(), procgroup.Exit{Code: 3})
	}},
	{"GroupDone is open while a child runs, and closed when End returns", func(m *machine) {
		c := m.start("echo")
		writes(c, "x\n")
		same("line", nextLine(c), "x")
		select {
		case <-c.GroupDone():
			panic(violation("GroupDone is closed, want that it is open"))
		default:
		}
		c.End(time.Hour, nil)
		<-c.GroupDone()
	}},
	{"two children have different process numbers, which are positive", func(m *machine) {
		a, b := m.start("hang").Pid(), m.start("hang").Pid()
		same("number is positive", a > 0 && b > 0, true)
		same("numbers are equal", a == b, false)
	}},
	{"a child has the files and the boot of its parent", func(m *machine) {
		c := m.start("put")
		same("Boot of the child", nextLine(c), m.Boot())
		m.content("f", "of the child")
	}},
	{"the end of a child does not end another one", func(m *machine) {
		a, b := m.start("hang"), m.start("echo")
		a.End(0, nil)
		writes(b, "x\n")
		same("line", nextLine(b), "x")
	}},
	{"a child does not outlive its parent that is killed", func(m *machine) {
		l := m.listen("door")
		c := m.start("parent")
		conn := m.accept(l)
		c.End(0, nil)
		ends(conn)
	}},
	{"a child does not outlive its parent that exits", func(m *machine) {
		l := m.listen("door")
		c := m.start("parent")
		conn := m.accept(l)
		c.CloseInput()
		same("exit code", c.Exit().Code, 0)
		ends(conn)
	}},
}

// waits calls a function that waits, and returns where its error arrives.
func waits(m *machine, call func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	m.pause()
	return ended
}

func (m *machine) listen(name string) keeper.Listener {
	l, _, err := m.Listen(m.dir, name)
	m.opened = append(m.opened, l)
	return must(l, err)
}

func (m *machine) dial(at string) keeper.Socket {
	conn, err := m.Dial(m.dir, at)
	m.opened = append(m.opened, conn)
	return must(conn, err)
}

func (m *machine) accept(l keeper.Listener) keeper.Socket {
	conn, err := l.Accept()
	m.opened = append(m.opened, conn)
	return must(conn, err)
}

// refuses checks that Dial fails.
func (m *machine) refuses(at string, kind error) {
	_, err := m.Dial(m.dir, at)
	returns("Dial", err, kind)
}

// connect returns both ends of a connection.
func (m *machine) connect() (client, server keeper.Socket) {
	l := m.listen("door")
	client = m.dial("door")
	return client, m.accept(l)
}

// ends checks that a connection contains no more bytes.
func ends(conn keeper.Socket) {
	_, err := conn.Read(make([]byte, 1))
	returns("Read", err, io.EOF)
}

// broken checks that writing fails with EPIPE.
func broken(conn keeper.Socket) {
	_, err := conn.Write([]byte("x"))
	returns("Write", err, syscall.EPIPE)
	same("WriteNow", conn.WriteNow([]byte("x")), 0)
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// socketRules are the rules of listeners and connections.
var socketRules = []rule{
	{"a connection carries bytes in both directions, which are read in parts", func(m *machine) {
		client, server := m.connect()
		writes(client, "abc")
		same("WriteNow", client.WriteNow([]byte("de")), 2)
		reads(server, 2, "ab")
		same("rest", must(io.ReadFull(server, make([]byte, 3))), 3)
		writes(server, "answer")
		reads(client, 9, "answer")
	}},
	{"Dial of a missing name fails with ENOENT, and Listen in a missing directory", func(m *machine) {
		m.refuses("door", syscall.ENOENT)
		_, _, err := m.Listen(m.dir+"/missing", "door")
		returns("Listen", err, syscall.ENOENT)
	}},
	{"Dial of a closed listener, and of one whose process is dead, fails with ECONNREFUSED", func(m *machine) {
		l := m.listen("door")
		returns("Close", l.Close(), nil)
		m.refuses("door", syscall.ECONNREFUSED)
		c := m.start("listen")
		same("line", nextLine(c), "listens")
		m.dial("door")
		c.End(0, nil)
		m.refuses("door", syscall.ECONNREFUSED)
	}},
	{"connections wait with their bytes until Accept, in the order of Dial", func(m *machine) {
		l := m.listen("door")
		for _, text := range []string{"first", "second"} {
			conn := m.dial("door")
			writes(conn, text)
			returns("Close", conn.Close(), nil)
		}
		for _, want := range []string{"first", "second"} {
			same("content", string(must(io.ReadAll(m.accept(l)))), want)
		}
	}},
	{"Close of a listener ends an Accept that waits, and later calls, with net.ErrClosed", func(m *machine) {
		l := m.listen("door")
		ended := waits(m, func() error {
			_, err := l.Accept()
			return err
		})
		returns("Close", l.Close(), nil)
		returns("waiting Accept", <-ended, net.ErrClosed)
		_, err := l.Accept()
		returns("Accept", err, net.ErrClosed)
		returns("Close", l.Close(), net.ErrClosed)
	}},
	{"Close of a listener resets the connections that were not accepted", func(m *machine) {
		l := m.listen("door")
		conn := m.dial("door")
		returns("Close", l.Close(), nil)
		broken(conn)
		_, err := conn.Read(make([]byte, 1))
		returns("Read", err, syscall.ECONNRESET)
	}},
	{"a second Listen takes the name, and the first listener still accepts its connections", func(m *machine) {
		first := m.listen("door")
		a := m.dial("door")
		second := m.listen("door")
		b := m.dial("door")
		writes(a, "a")
		writes(b, "b")
		reads(m.accept(first), 9, "a")
		reads(m.accept(second), 9, "b")
		returns("Close", first.Close(), nil)
		m.dial("door")
	}},
	{"the death of a process resets the connections of its replaced listener", func(m *machine) {
		c := m.start("listen")
		same("line", nextLine(c), "listens")
		conn := m.dial("door")
		m.listen("door")
		c.End(0, nil)
		_, err := conn.Read(make([]byte, 1))
		returns("Read", err, syscall.ECONNRESET)
	}},
	{"Read returns what was sent before the other end closed, then io.EOF", func(m *machine) {
		client, server := m.connect()
		writes(client, "text")
		returns("Close", client.Close(), nil)
		reads(server, 9, "text")
		ends(server)
		ends(server)
	}},
	{"an end that closes with unread bytes resets the other one once", func(m *machine) {
		client, server := m.connect()
		writes(client, "unread")
		writes(server, "read")
		returns("Close", server.Close(), nil)
		reads(client, 9, "read")
		_, err := client.Read(make([]byte, 1))
		returns("Read", err, syscall.ECONNRESET)
		ends(client)
	}},
	{"a write to a connection whose other end is closed fails with EPIPE", func(m *machine) {
		client, server := m.connect()
		returns("Close", server.Close(), nil)
		broken(client)
	}},
	{"CloseWrite ends one direction", func(m *machine) {
		client, server := m.connect()
		writes(client, "last")
		returns("CloseWrite", client.CloseWrite(), nil)
		broken(client)
		reads(server, 9, "last")
		ends(server)
		writes(server, "answer")
		reads(client, 9, "answer")
	}},
	{"CloseRead ends reading after the bytes that have arrived", func(m *machine) {
		client, server := m.connect()
		writes(client, "arrived")
		returns("CloseRead", server.CloseRead(), nil)
		broken(client)
		reads(server, 9, "arrived")
		ends(server)
		writes(server, "answer")
		reads(client, 9, "answer")
	}},
	{"every call of a closed socket fails with net.ErrClosed", func(m *machine) {
		client, server := m.connect()
		writes(server, "text")
		returns("Close", client.Close(), nil)
		_, read := client.Read(make([]byte, 1))
		_, write := client.Write([]byte("x"))
		_, _, receive := client.ReceiveByte()
		for i, err := range []error{read, write, receive, client.CloseRead(), client.CloseWrite(), client.SetReadDeadline(past), client.SetWriteDeadline(past), client.SetDeadline(past), client.Close()} {
			returns(strings.Fields("Read Write ReceiveByte CloseRead CloseWrite SetReadDeadline SetWriteDeadline SetDeadline Close")[i], err, net.ErrClosed)
		}
		same("WriteNow", client.WriteNow([]byte("x")), 0)
	}},
	{"Close ends a Read that waits with net.ErrClosed", func(m *machine) {
		client, _ := m.connect()
		ended := waits(m, func() error {
			_, err := client.Read(make([]byte, 1))
			return err
		})
		returns("Close", client.Close(), nil)
		returns("Read", <-ended, net.ErrClosed)
	}},
	{"a deadline in the past ends a Read that waits, and a later one permits the next", func(m *machine) {
		client, server := m.connect()
		ended := waits(m, func() error {
			_, err := client.Read(make([]byte, 1))
			return err
		})
		returns("SetReadDeadline", client.SetReadDeadline(past), nil)
		returns("Read", <-ended, os.ErrDeadlineExceeded)
		writes(server, "text")
		returns("SetReadDeadline", client.SetReadDeadline(time.Now().Add(time.Hour)), nil)
		reads(client, 9, "text")
	}},
	{"a Read after its deadline fails although bytes have arrived, and loses none", func(m *machine) {
		client, server := m.connect()
		writes(server, "text")
		reads(client, 1, "t")
		returns("SetDeadline", client.SetDeadline(past), nil)
		_, err := client.Read(make([]byte, 1))
		returns("Read", err, os.ErrDeadlineExceeded)
		returns("SetDeadline", client.SetDeadline(time.Time{}), nil)
		reads(client, 9, "ext")
	}},
	{"a write after its deadline fails, and reading continues", func(m *machine) {
		client, server := m.connect()
		returns("SetWriteDeadline", client.SetWriteDeadline(past), nil)
		_, err := client.Write([]byte("x"))
		returns("Write", err, os.ErrDeadlineExceeded)
		same("WriteNow", client.WriteNow([]byte("x")), 0)
		writes(server, "text")
		reads(client, 9, "text")
		returns("SetWriteDeadline", client.SetWriteDeadline(time.Time{}), nil)
		writes(client, "y")
		reads(server, 9, "y")
	}},
	{"ReceiveByte reads one byte, and reports the end with io.EOF", func(m *machine) {
		client, server := m.connect()
		writes(client, "ab")
		returns("Close", client.Close(), nil)
		b, files, err := server.ReceiveByte()
		same("ReceiveByte", []any{b, len(files), err}, []any{byte('a'), 0, nil})
		reads(server, 9, "b")
		_, _, err = server.ReceiveByte()
		returns("ReceiveByte", err, io.EOF)
	}},
	{"the connections of a process end with it", func(m *machine) {
		l := m.listen("door")
		c := m.start("dial")
		conn := m.accept(l)
		c.End(0, nil)
		ends(conn)
		broken(conn)
	}},
}
