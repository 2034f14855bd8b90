package inside

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// proxyVariables are the variables that name a proxy. Programs read one case or the other.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}

// network enables the loopback interface of this process's network namespace and, with a proxy,
// sends a listener there to the process that has started this one. The listener belongs to this
// namespace, and that process connects to addresses from its own.
func network(p *sandbox.Plan) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("enable loopback: %w", err)
	}
	if !p.Proxy {
		return nil
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return err
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	address := fmt.Sprintf("http://127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	for _, name := range proxyVariables {
		for _, name := range []string{name, strings.ToLower(name)} {
			if err := os.Setenv(name, address); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if err := os.Setenv(name, ""); err != nil {
			return err
		}
	}
	return unix.Sendmsg(sandbox.ReportFD, nil, unix.UnixRights(fd), nil, 0)
}
