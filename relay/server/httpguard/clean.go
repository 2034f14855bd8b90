package httpguard

import (
	"regexp"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// inURL are the parameters of URLs that hold credentials.
var inURL = regexp.MustCompile(`(?i)\b(token|host_token|ticket|auth|code|password)=[^&\s"'#\\]+`)

// Clean takes credentials in URLs out of a text that is to be shown or logged.
func Clean(text string) string { return inURL.ReplaceAllString(text, "$1="+protocol.Redacted) }
