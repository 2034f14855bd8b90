package keeper

import (
	"os"
	"strings"
)

// bootID returns the id of the machine's current boot, or "" if it is not available.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}
