//go:build !js

package clock

import _ "time/tzdata" // for systems without; a page fetches its archive of time zones when a program needs one
