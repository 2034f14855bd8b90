// The terminal of others, with its look: what Terminal loads when there is one to be shown.
export { Terminal as Xterm } from "@xterm/xterm";
export { FitAddon as Fit } from "@xterm/addon-fit";
export { default as look } from "vendor/xterm/xterm.css";
