package files

// nonblock is 0 because a page has no devices and no FIFOs.
const nonblock = 0
