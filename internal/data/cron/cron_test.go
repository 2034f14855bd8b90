package cron

import (
	"strings"
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	for _, c := range []struct{ expression, zone, after, want string }{
		{"0 7 * * 1-5", "UTC", "2026-01-02T06:59:59Z", "2026-01-02T07:00:00Z 2026-01-05T07:00:00Z 2026-01-06T07:00:00Z"},
		{"*/20 * * * *", "UTC", "2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z 2026-01-01T01:00:00Z"},
		{"5/20 3 * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T03:05:00Z 2026-01-01T03:25:00Z 2026-01-01T03:45:00Z 2026-01-02T03:05:00Z"},
		{"0 0 1,15 * mon", "UTC", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z 2026-01-12T00:00:00Z 2026-01-15T00:00:00Z"}, // either matches
		{"0 0 * * 7", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
		{"0 0 */2 * sun", "UTC", "2026-01-01T00:00:00Z", "2026-01-11T00:00:00Z 2026-01-25T00:00:00Z"}, // both must match
		{"30 12 29 feb *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T12:30:00Z 2032-02-29T12:30:00Z"},
		{"0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z", "none"},
		{"0 7 * * *", "Europe/Paris", "2026-03-28T00:00:00Z", "2026-03-28T06:00:00Z 2026-03-29T05:00:00Z"},
		// Clocks advance from 2:00 to 3:00, which is 1:00 UTC.
		{"30 2 * * *", "Europe/Paris", "2026-03-28T02:00:00Z", "2026-03-29T01:00:00Z 2026-03-30T00:30:00Z"},
		{"*/30 2,3 * * *", "Europe/Paris", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z 2026-03-29T01:30:00Z 2026-03-30T00:00:00Z"},
		// Clocks go back from 3:00 to 2:00, which is 1:00 UTC.
		{"30 2 * * *", "Europe/Paris", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z"},
		{"30 * * * *", "Europe/Paris", "2026-10-24T23:50:00Z", "2026-10-25T00:30:00Z 2026-10-25T02:30:00Z"},
		{"30 2 * * *", "Europe/Paris", "2026-10-25T01:00:00Z", "2026-10-26T01:30:00Z"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-03T15:30:00Z"},               // a gap of half an hour
		{"0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", "2011-12-30T10:00:00Z 2011-12-30T22:00:00Z"}, // a missing day
	} {
		s, wrong := Parse(c.expression)
		if wrong != "" {
			t.Error(wrong)
			continue
		}
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(c.want)
		var got []string
		for range want {
			next, ok := s.Next(at, zone)
			if !ok {
				got = append(got, "none")
				break
			}
			got, at = append(got, next.UTC().Format(time.RFC3339)), next
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %s after %s: %s, want %s", c.expression, c.zone, c.after, strings.Join(got, " "), c.want)
		}
	}
}

func TestInvalid(t *testing.T) {
	for expression, want := range map[string]string{
		"":                `it has 0 fields, but needs five: minute, hour, day of the month, month, day of the week`,
		"*":               `it has 1 field, but needs five: minute, hour, day of the month, month, day of the week`,
		"60 * * * *":      `the minute "60": 60 is not between 0 and 59`,
		"* 24 * * *":      `the hour "24": 24 is not between 0 and 23`,
		"* * 0 * *":       `the day of the month "0": 0 is not between 1 and 31`,
		"* * * foo *":     `the month "foo": "foo" is not a number`,
		"* * * * fri-mon": `the day of the week "fri-mon": "fri-mon" ends before it starts`,
		"*/0 * * * *":     `the minute "*/0": "0" is not a step, which is a number of 1 or more`,
		"1,,2 * * * *":    `the minute "1,,2": "" is not a number`,
		"+1 * * * *":      `the minute "+1": "+1" is not a number`,
	} {
		if _, wrong := Parse(expression); wrong != want {
			t.Errorf("%q: %s, want %s", expression, wrong, want)
		}
	}
}

// FuzzNext checks that each result is later than the time before it and matches the expression on
// the clock of the time zone, unless the clocks skip its minute.
func FuzzNext(f *testing.F) {
	f.Add("*/7 1-3 * * mon,wed", int64(1774746000), uint8(0))
	f.Add("30 2 28-31 3,10 0", int64(1792900000), uint8(1))
	zones := []string{"Europe/Paris", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"}
	f.Fuzz(func(t *testing.T, expression string, seconds int64, z uint8) {
		s, wrong := Parse(expression)
		if wrong != "" || seconds < 0 || seconds > 4e9 {
			return
		}
		zone, err := time.LoadLocation(zones[int(z)%len(zones)])
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(seconds, 0)
		for range 5 {
			next, ok := s.Next(at, zone)
			if !ok {
				return
			}
			if !next.After(at) {
				t.Fatalf("%q in %s: %s is not after %s", expression, zone, next, at)
			}
			local := next.In(zone)
			start, _ := local.ZoneBounds()
			matches := s.months>>local.Month()&1 == 1 && s.matchesDay(local) && s.hours>>local.Hour()&1 == 1 && s.minutes>>local.Minute()&1 == 1
			if !matches && !next.Equal(start) {
				t.Fatalf("%q in %s: %s does not match", expression, zone, local)
			}
			at = next
		}
	})
}
