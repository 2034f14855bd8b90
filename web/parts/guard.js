import { useEffect, useRef, useState } from "./base.js";

const guard = 500; // milliseconds without decisions after an element appears or moves
const often = 100; // milliseconds between two checks of the position
const still = 4; // number of pixels that do not count as a move

// useGuard returns a function that reports whether an event may make a decision. It returns false
// until the element has been visible with this content (what) for half a second. For pointer events
// it also returns false within half a second after the element has moved without the user's action,
// because the user may have aimed at something else. The function's property now is the state to
// render.
export function useGuard(box, what) {
  const [ready, setReady] = useState(false);
  const since = useRef(Infinity);
  const place = useRef(null);
  useEffect(() => {
    const element = box.current;
    let timer = 0;
    let poll = 0;
    let inSight = false;
    const settle = () => {
      clearTimeout(timer);
      setReady(false);
      if (since.current < Infinity) timer = setTimeout(() => setReady(true), guard);
    };
    const onVisibility = () => {
      clearInterval(poll);
      const shown = inSight && !document.hidden;
      since.current = shown ? performance.now() : Infinity;
      place.current = null;
      if (shown) poll = setInterval(() => look(element, place) && settle(), often);
      settle();
    };
    const sight = new IntersectionObserver((entries) => {
      if (entries.at(-1).isIntersecting === inSight) return;
      inSight = !inSight;
      onVisibility();
    });
    sight.observe(element);
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      clearTimeout(timer);
      clearInterval(poll);
      sight.disconnect();
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [what]);
  const may = (event) => {
    const at = event?.timeStamp > 0 ? event.timeStamp : performance.now();
    if (at - since.current < guard) return false;
    if (!(event?.detail > 0)) return true; // keys apply to the focused element, wherever the element is
    look(box.current, place);
    return at - (place.current?.moved ?? -Infinity) >= guard;
  };
  may.now = ready;
  return may;
}

// look records an element's position and reports whether it moved without scrolling.
function look(element, place) {
  const top = element.getBoundingClientRect().top;
  let scrolled = window.scrollY;
  for (let e = element.parentElement; e; e = e.parentElement) scrolled += e.scrollTop;
  const was = place.current;
  const moved = was !== null && Math.abs(top - was.top) > still && scrolled === was.scrolled;
  place.current = { top, scrolled, moved: moved ? performance.now() : was?.moved ?? -Infinity };
  return moved;
}
