package httpport

// MethodPost is the method of requests to models.
const MethodPost = "POST"

// The statuses that package llm distinguishes.
const (
	StatusOK                    = 200
	StatusUnauthorized          = 401
	StatusPaymentRequired       = 402
	StatusForbidden             = 403
	StatusNotFound              = 404
	StatusRequestTimeout        = 408
	StatusConflict              = 409
	StatusRequestEntityTooLarge = 413
	StatusTooEarly              = 425
	StatusTooManyRequests       = 429
	StatusNotImplemented        = 501
	StatusServiceUnavailable    = 503
	StatusGatewayTimeout        = 504
)
