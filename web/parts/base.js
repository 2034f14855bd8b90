// The basis of all parts and pages: elements, state, and formatting of values.
import { h, render, Fragment, createContext, createRef, toChildArray } from "preact";
import {
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useReducer, useErrorBoundary,
} from "preact/hooks";
import htm from "htm";
import { signal, computed, effect, batch } from "./signals.js";
import "./rerender.js";

export const html = htm.bind(h);
export {
  h, render, Fragment, createContext, createRef, toChildArray,
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId, useReducer, useErrorBoundary,
  signal, computed, effect, batch,
};

export { plain } from "./plain.js";
export { Ansi, spans } from "./ansi.js";
export { ago, until, bytes, count, duration, moment, Ago } from "./format.js";
export { icon } from "./icon.js";

// classes joins the values that are true: classes("row", chosen && "chosen").
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}
