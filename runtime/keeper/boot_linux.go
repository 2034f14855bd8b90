package keeper

import (
	"os"
	"strings"
)

// bootID is of the machine since it was started; "" when it does not say.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}
