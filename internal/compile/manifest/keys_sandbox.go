package manifest

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/data/netallow"
)

// sandboxKeys returns the keys of the sandboxes of commands and of hosts.
func sandboxKeys() []Key {
	return slices.Concat(
		[]Key{{Path: "tools.*.command.sandbox.net", Type: Bool, Example: "false", Doc: "`false`: it has no network."}},
		confinementKeys("tools.*.command.sandbox", "The outcome of a call if this machine cannot enforce all of these limits."),
		[]Key{{Path: "hosts.*.sandbox.net", Type: Network, Example: `["api.example.com", "*.example.org:8443"]`, check: checkAddress,
			Doc: "The addresses that it may reach, through a proxy, and no others: host names or IP addresses, by default on the ports 443 and 80. `*.` matches all names below a domain. `false` means no network."}},
		confinementKeys("hosts.*.sandbox", "Whether an exchange fails if this system cannot enforce all of these limits, or the host runs without those that are missing."),
	)
}

// confinementKeys returns the keys that the sandboxes of commands and of hosts share. missing
// describes the key missing.
func confinementKeys(section, missing string) []Key {
	return []Key{
		{Path: section + ".read", Type: Strings, Example: `["data"]`, Doc: "Files and directories that it may read, in addition to those that a program needs to run; with this key or `write`, no others."},
		{Path: section + ".write", Type: Strings, Example: `["out"]`, Doc: "Files and directories that it may read and write."},
		{Path: section + ".cpu_seconds", Type: Number, Unit: "seconds", Example: "10", Doc: "Maximum CPU time of it and its child processes."},
		{Path: section + ".memory_mb", Type: Integer, Min: 1, Unit: "MiB", Example: "512", Doc: "Maximum memory of it and its child processes."},
		{Path: section + ".file_mb", Type: Integer, Min: 1, Unit: "MiB", Example: "100", Doc: "The largest file that it may write."},
		{Path: section + ".open_files", Type: Integer, Min: 16, Example: "256", Doc: "Maximum number of open files of each process."},
		{Path: section + ".processes", Type: Integer, Min: 1, Example: "20", Doc: "Maximum number of concurrent processes, including its own."},
		{Path: section + ".missing", Type: Enum, Values: []string{"fail", "warn"}, Default: `"fail"`, Example: `"warn"`, Doc: missing},
	}
}

// checkAddress returns an error if a text is not an address that a sandbox can allow.
func checkAddress(text string) error {
	_, err := netallow.ParseAddress(text)
	return err
}
