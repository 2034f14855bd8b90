package stdlib

import (
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func TestTimeFormat(t *testing.T) {
	run(t, []call{
		{"time.__format", `[1772357400250, "rfc3339", 0, "UTC"]`, `"2026-03-01T09:30:00.250Z"`, ""},
		{"time.__format", `[1772357400250, "rfc3339", 7200, "CEST"]`, `"2026-03-01T11:30:00.250+02:00"`, ""},
		{"time.__format", `[1772357400250, "rfc3339", -12600, "x"]`, `"2026-03-01T06:00:00.250-03:30"`, ""},
		{"time.__format", `[-1, "datetime", 0, "UTC"]`, `"1969-12-31 23:59:59"`, ""},
		{"time.__format", `[0, "date", 0, "UTC"]`, `"1970-01-01"`, ""},
		{"time.__format", `[0, "time", 0, "UTC"]`, `"00:00:00"`, ""},
		{"time.__format", `[1772357400250, "http", 0, "UTC"]`, `"Sun, 01 Mar 2026 09:30:00 GMT"`, ""},
		{"time.__format", `[-1500, "unix", 0, "UTC"]`, `"-2"`, ""},
		{"time.__format", `[1772357400250, "%A %a %B %b %e %j %y %L %% %z %:z %Z %s é", 3600, "CET"]`,
			`"Sunday Sun March Mar 1 060 26 250 % +0100 +01:00 CET 1772357400 é"`, ""},
		{"time.__format", `[0, "%I%p", 0, ""]`, `"12AM"`, ""},
		{"time.__format", `[43200000, "%I%p", 0, ""]`, `"12PM"`, ""},
		{"time.__format", `[46800000, "%I%p", 0, ""]`, `"01PM"`, ""},
		{"time.__format", `[253402300799999, "rfc3339", 0, ""]`, `"9999-12-31T23:59:59.999Z"`, ""},
		{"time.__format", `[253402300800000, "rfc3339", 0, ""]`, `fault: format: the instant 253402300800000 is not in the years 0 to 9999`, ""},
		{"time.__format", `[-62167219200000, "date", 0, ""]`, `"0000-01-01"`, ""},
		{"time.__format", `[-62167219200001, "date", 0, ""]`, `fault: format: the instant -62167219200001 is not in the years 0 to 9999`, ""},
		{"time.__format", `[9223372036854775807, "date", 0, ""]`, `fault: format: the instant 9223372036854775807 is not in the years 0 to 9999`, ""},
		{"time.__format", `[0, "rfc", 0, ""]`, `fault: unknown layout "rfc": use rfc3339, date, time, datetime, http or unix, or a pattern such as %Y-%m-%d`, ""},
		{"time.__format", `[0, "", 0, ""]`, `fault: unknown layout "": use rfc3339, date, time, datetime, http or unix, or a pattern such as %Y-%m-%d`, ""},
		{"time.__format", `[0, "%Y %q", 0, ""]`, "fault: the layout \"%Y %q\" contains an unknown `%` sequence; write `%%` for a percent sign", ""},
		{"time.__format", `[0, "%Y %", 0, ""]`, "fault: the layout \"%Y %\" contains an unknown `%` sequence; write `%%` for a percent sign", ""},
		{"time.__fixed_zone", `["UTC"]`, `[0,"UTC"]`, ""},
		{"time.__fixed_zone", `["+05:45"]`, `[20700,"+05:45"]`, ""},
		{"time.__fixed_zone", `["-0800"]`, `[-28800,"-0800"]`, ""},
		{"time.__fixed_zone", `["Europe/Berlin"]`, `null`, ""},
		{"time.__fixed_zone", `["+24:00"]`, `null`, ""},
		{"time.__fixed_zone", `[""]`, `null`, ""},
	})
}

func TestTimeParse(t *testing.T) {
	for _, c := range []struct {
		text, layout string
		want         string // an instant in the form of RFC 3339, or the error
	}{
		{"2026-03-01T09:30:00.250Z", "rfc3339", "2026-03-01T09:30:00.250Z"},
		{"2026-03-01t09:30:00z", "rfc3339", "2026-03-01T09:30:00.000Z"},
		{"2026-03-01 09:30:00.2509999999999999999999+02:00", "rfc3339", "2026-03-01T07:30:00.250Z"},
		{"1969-12-31T23:59:59.9-00:30", "rfc3339", "1970-01-01T00:29:59.900Z"},
		{"2016-12-31T23:59:60.5Z", "rfc3339", "2017-01-01T00:00:00.500Z"}, // a leap second
		{"2017-01-01T00:59:60+01:00", "rfc3339", "2017-01-01T00:00:00.000Z"},
		{"1969-06-30 15:59:60-08:00", "rfc3339", "1969-07-01T00:00:00.000Z"},
		{"2024-02-29", "date", "2024-02-29T00:00:00.000Z"},
		{"23:59:59", "time", "1970-01-01T23:59:59.000Z"},
		{"2026-03-01 09:30:00", "datetime", "2026-03-01T09:30:00.000Z"},
		{"Sun, 01 Mar 2026 09:30:00 GMT", "http", "2026-03-01T09:30:00.000Z"},
		{"-2", "unix", "1969-12-31T23:59:58.000Z"},
		{"1772357400.250", "%s.%L", "2026-03-01T09:30:00.250Z"},
		{"sunday 1 MARCH 26, 12:05 am", "%A %e %B %y, %I:%M %p", "2026-03-01T00:05:00.000Z"},
		{"01/03/1969 12PM +0100", "%d/%m/%Y %I%p %z", "1969-03-01T11:00:00.000Z"},
		{"2024-366", "%Y-%j", "2024-12-31T00:00:00.000Z"},
		{"68 69", "%y %%", "ParseError: \"68 69\" is not a time with the layout \"%y %%\": expected a `%` at \"69\""},
		{"68%", "%y%%", "2068-01-01T00:00:00.000Z"},
		{"69", "%y", "1969-01-01T00:00:00.000Z"},
		{"UTC", "%Z", "1970-01-01T00:00:00.000Z"},
		{"", "rfc3339", `ParseError: "" is not a time with the layout "rfc3339": expected a year of four digits at the end`},
		{"2026-3-1", "date", `ParseError: "2026-3-1" is not a time with the layout "date": expected a month of two digits at "3-1"`},
		{"2026-03-01 ", "date", `ParseError: "2026-03-01 " is not a time with the layout "date": unexpected text " " at the end`},
		{"2026/03/01", "date", `ParseError: "2026/03/01" is not a time with the layout "date": expected "-" at "/03/01"`},
		{"2023-02-29", "date", `ParseError: "2023-02-29" is not a time with the layout "date": there is no day 29 in month 2 of 2023`},
		{"2023-13-01", "date", `ParseError: "2023-13-01" is not a time with the layout "date": there is no month 13`},
		{"2023-00-01", "date", `ParseError: "2023-00-01" is not a time with the layout "date": there is no month 0`},
		{"24:00:00", "time", `ParseError: "24:00:00" is not a time with the layout "time": there is no time 24:00:00`},
		{"23:59:60", "time", `ParseError: "23:59:60" is not a time with the layout "time": there is no time 23:59:60: a leap second is only at the end of a month in UTC`},
		{"23:59:61", "time", `ParseError: "23:59:61" is not a time with the layout "time": there is no time 23:59:61`},
		{"2016-12-31T22:59:60Z", "rfc3339", `ParseError: "2016-12-31T22:59:60Z" is not a time with the layout "rfc3339": there is no time 22:59:60: a leap second is only at the end of a month in UTC`},
		{"2016-12-30T23:59:60Z", "rfc3339", `ParseError: "2016-12-30T23:59:60Z" is not a time with the layout "rfc3339": there is no time 23:59:60: a leap second is only at the end of a month in UTC`},
		{"2026-03-01T09:30:00+0100", "rfc3339", `ParseError: "2026-03-01T09:30:00+0100" is not a time with the layout "rfc3339": expected an offset such as +02:00 at "+0100"`},
		{"2026-03-01T09:30:00", "rfc3339", `ParseError: "2026-03-01T09:30:00" is not a time with the layout "rfc3339": expected an offset at the end`},
		{"2026-03-01T09:30:00.Z", "rfc3339", `ParseError: "2026-03-01T09:30:00.Z" is not a time with the layout "rfc3339": expected a fraction of a second at ".Z"`},
		{"2026-03-01T09:30:00+24:00", "rfc3339", `ParseError: "2026-03-01T09:30:00+24:00" is not a time with the layout "rfc3339": expected an offset at "+24:00"`},
		{"Mon, 01 Mar 2026 09:30:00 GMT", "http", `ParseError: "Mon, 01 Mar 2026 09:30:00 GMT" is not a time with the layout "http": 2026-03-01 is a Sunday, not a Monday`},
		{"2023-366", "%Y-%j", `ParseError: "2023-366" is not a time with the layout "%Y-%j": the year 2023 has no day 366`},
		{"13AM", "%I%p", `ParseError: "13AM" is not a time with the layout "%I%p": expected an hour of two digits at "AM"`},
		{"9999999999999", "unix", `ParseError: "9999999999999" is not a time with the layout "unix": unexpected text "9" at the end`},
		{"x", "no layout", `fault: unknown layout "no layout": use rfc3339, date, time, datetime, http or unix, or a pattern such as %Y-%m-%d`},
	} {
		got, err := natives["time.parse"].Invoke("time.parse", []value.Slot{value.String(c.text), value.String(c.layout)})
		text := outcome(got, err)
		if err == nil {
			text = time.UnixMilli(got.AsInt()).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		if text != c.want {
			t.Errorf("parsing %q with the layout %q: got %s, want %s", c.text, c.layout, text, c.want)
		}
	}
}
