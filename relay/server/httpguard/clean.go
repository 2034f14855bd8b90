package httpguard

import (
	"regexp"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// inURL matches URL parameters that contain credentials.
var inURL = regexp.MustCompile(`(?i)\b(token|host_token|ticket|auth|code|password)=[^&\s"'#\\]+`)

// Clean removes credentials in URLs from a text that is shown or logged.
func Clean(text string) string { return inURL.ReplaceAllString(text, "$1="+protocol.Redacted) }
