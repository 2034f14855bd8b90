// The terminal emulator with its style sheet, loaded by Terminal on first use.
export { Terminal as Xterm } from "@xterm/xterm";
export { FitAddon as Fit } from "@xterm/addon-fit";
export { default as look } from "vendor/xterm/xterm.css";
