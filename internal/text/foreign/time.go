package foreign

import (
	"strconv"
	"strings"
)

// units contains the names of time units in other languages, with their lengths in seconds.
var units = map[string]float64{
	"ms": 0.001, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600,
}

// Seconds converts a duration with a unit, such as `10m` or `60s`, to a number of seconds. It
// returns "" for any other text.
func Seconds(text string) string {
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	unit := strings.TrimLeft(text, "0123456789.")
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, unit), 64)
	if err != nil || units[unit] == 0 {
		return ""
	}
	return strconv.FormatFloat(n*units[unit], 'f', -1, 64)
}
