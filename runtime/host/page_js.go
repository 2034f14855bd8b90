package host

// inPage means that this is the playground. The linker then omits vendors' agents and keepers,
// which a page does not have.
const inPage = true
