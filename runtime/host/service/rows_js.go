package service

// requestRows is empty in a page, where hosts use the host protocol, which has no such requests.
var requestRows []requestRow
