package engines

import (
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// parseAt parses the value of --at: a time, or + and the duration from now. A time without a zone
// is local.
func parseAt(text string) (at time.Time, delay time.Duration, err error) {
	if after, ok := strings.CutPrefix(text, "+"); ok {
		delay, err = console.ParseDuration("--at", after)
		return at, delay, err
	}
	for _, form := range console.TimeForms {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, 0, nil
		}
	}
	return at, 0, console.Usage("write a time such as 2026-01-05T10:00:00Z, or a duration from now such as +5m", "invalid value %q for --at", text)
}

// durationText returns a duration as messages and JSON contain it, such as 500ms, 6s, 1h30m or 7d.
func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}
