package editors

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/playground/link"
	"github.com/concerto-lang/concerto/internal/playground/server"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// playgroundCommand is the command playground with its options.
type playgroundCommand struct {
	console    *console.Console
	addr       string
	files      string
	open       bool
	network    bool
	link, base string
}

func NewPlayground(a *console.Console) *cobra.Command {
	cmd := playgroundCommand{console: a}
	c := &cobra.Command{
		Use:   "playground [PATH]",
		Short: "Serve a page that edits and runs programs in the browser",
		Long: `Serves the playground, a page that edits and runs programs in the browser, on this machine.
PATH is a file or a project that is copied into the page; it is never written.

The first line of stdout is the page's address.`,
		Example: `  concerto playground --open                 open the page in a browser
  concerto playground triage                 begin with the project in triage
  concerto playground --link hello.conc --base https://example.com/playground/`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			path, _ := console.Path(c, args)
			if c.Flags().Changed("link") {
				return cmd.printLink(path)
			}
			if cmd.base != "" {
				return console.Usage("add --link PATH", "--base requires --link")
			}
			return cmd.serve(c.Context(), path)
		},
	}
	c.Flags().StringVar(&cmd.addr, "addr", "127.0.0.1:0", "listen at `ADDR`; port 0 selects a free port")
	c.Flags().StringVar(&cmd.files, "files", "", "serve the playground in `DIR`, as make playground writes it")
	c.Flags().BoolVar(&cmd.open, "open", false, "open the page in a browser")
	c.Flags().BoolVar(&cmd.network, "open-to-network", false, "permit an ADDR that other machines can reach")
	c.Flags().StringVar(&cmd.link, "link", "", "print a link to the program in `PATH`, and exit")
	c.Flags().StringVar(&cmd.base, "base", "", "begin the link with the address `URL` of a playground")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	return c
}

// serve serves the page until the command is interrupted.
func (cmd *playgroundCommand) serve(parent context.Context, path string) error {
	dir, err := cmd.findFiles()
	if err != nil {
		return err
	}
	var content *link.Content
	if path != "" {
		c, err := cmd.read(path)
		if err != nil {
			return err
		}
		content = &c
	}
	if !cmd.network && !server.IsLoopback(cmd.addr) {
		return console.Usage("use an address such as 127.0.0.1:0, or add --open-to-network",
			"other machines could reach the playground at %s", cmd.addr)
	}
	h, err := server.New(dir, content, cmd.network)
	if err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	<-signals.Ready
	l, err := net.Listen("tcp", cmd.addr)
	if err != nil {
		return console.Usage("port 0 selects a free port: --addr 127.0.0.1:0", "listen at %s: %v", cmd.addr, listenCause(err))
	}
	address := "http://" + l.Addr().String() + "/"
	if _, err := fmt.Fprintln(cmd.console.Stdout, address); err != nil {
		return errors.Join(err, l.Close())
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	if cmd.open {
		cmd.console.OpenInBrowser(ctx, address)
	}
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
	}
	err = s.Close()
	<-ended // http.ErrServerClosed
	return err
}

// headerTimeout is how long a client may take to send the header of a request.
const headerTimeout = 10 * time.Second

// listenCause returns the reason why an address cannot be used.
func listenCause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// findFiles returns the directory of the playground: that of --files, or that of the installation.
func (cmd *playgroundCommand) findFiles() (string, error) {
	if cmd.files != "" {
		dir := cmd.console.Abs(cmd.files)
		if !server.IsPlayground(dir) {
			return "", console.Usage("`make playground OUT="+cmd.files+"` builds one", "%s contains no playground", cmd.files)
		}
		return dir, nil
	}
	if dir, ok := server.Installed(cmd.console.Binary.Executable); ok {
		return dir, nil
	}
	return "", console.Usage("run `make playground` in the sources of concerto, and then add --files bin/playground", "this build has no playground")
}

// printLink prints the link of a program.
func (cmd *playgroundCommand) printLink(more string) error {
	if more != "" {
		return console.Usage("write --link PATH alone", "--link already names a program, so that %s is one too many", more)
	}
	c, err := cmd.read(cmd.link)
	if err != nil {
		return err
	}
	fragment, err := link.Encode(c)
	if err != nil {
		return console.Usage("", "%v", err)
	}
	base, _, _ := strings.Cut(cmd.base, "#")
	_, err = fmt.Fprintln(cmd.console.Stdout, base+fragment)
	return err
}

// Limits of the copied files: their size in bytes, together and of one, and their number.
const (
	maxSize  = 1 << 20
	maxFiles = 1000
)

// read reads the files of a program: of a project, the texts in its directory; of a file, the file
// with its modules and its manifest.
func (cmd *playgroundCommand) read(path string) (c link.Content, err error) {
	full := cmd.console.Abs(path)
	info, err := os.Stat(full)
	if err != nil {
		return c, console.Usage("", "read %s: %v", path, console.Cause(err))
	}
	c.Files = map[string]string{}
	if info.IsDir() {
		err = cmd.readProject(full, &c)
	} else {
		err = cmd.readProgram(path, full, &c)
	}
	if err == nil && len(c.Files) == 0 {
		err = console.Usage("", "%s contains no texts", path)
	}
	return c, err
}

// readProject reads the texts in a directory, without hidden files.
func (cmd *playgroundCommand) readProject(dir string, c *link.Content) error {
	size := 0
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		hidden := file != dir && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules")
		switch {
		case err != nil:
			return err
		case hidden && e.IsDir():
			return filepath.SkipDir
		case hidden || !e.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return cmd.add(c, filepath.ToSlash(name), file, &size)
	})
	if err != nil {
		return console.Usage("", "copy %s: %v", dir, console.Cause(err))
	}
	if _, ok := c.Files["main.conc"]; ok {
		c.Open = "main.conc"
	}
	return nil
}

// readProgram reads a file with its modules, its manifest and the scripts of its hosts.
func (cmd *playgroundCommand) readProgram(path, full string, c *link.Content) error {
	seen := map[string]bool{full: true}
	in, err := driver.Load(driver.Request{Path: path, Dir: cmd.console.Dir, Seen: func(file string) { seen[file] = true }})
	if err != nil {
		return console.SourceError(err)
	}
	driver.Check(in) // reads the modules
	scripts, err := filepath.Glob(filepath.Join(in.Root, "*.host"))
	if err != nil {
		return err
	}
	for _, file := range scripts {
		seen[file] = true
	}
	size := 0
	for file := range seen {
		name, err := filepath.Rel(in.Root, file)
		if info, broken := os.Stat(file); err != nil || broken != nil || !info.Mode().IsRegular() || !filepath.IsLocal(name) {
			continue
		}
		if err := cmd.add(c, filepath.ToSlash(name), file, &size); err != nil {
			return console.Usage("", "copy %s: %v", path, console.Cause(err))
		}
	}
	c.Open = in.EntryName
	return nil
}

var errTooLarge = errors.New("its files are larger than 1 MiB")

// add adds a file to the content if it is a text.
func (cmd *playgroundCommand) add(c *link.Content, name, file string, size *int) error {
	if problem := link.NameProblem(name); problem != "" {
		cmd.console.Notef("concerto: %s is not copied: its name %s\n", name, problem)
		return nil
	}
	text, err := userfile.Read(file, maxSize)
	if _, large := errors.AsType[*userfile.TooLargeError](err); large {
		return errTooLarge
	}
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		cmd.console.Notef("concerto: %s is not copied: it is no text\n", name)
		return nil
	}
	if *size += len(text); *size > maxSize {
		return errTooLarge
	}
	if len(c.Files) == maxFiles {
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	c.Files[name] = string(text)
	return nil
}
