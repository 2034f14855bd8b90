import { useEffect, useRef, useState } from "./base.js";

const guard = 500; // milliseconds in which what has just appeared, or moved, takes no decision
const often = 100; // milliseconds between two looks at where something is
const still = 4; // pixels that are no move

// useGuard says when something may be decided: not before it (what names it: other arguments are
// something else) has been in sight for half a second; and with a pointer not within half
// a second of its moving by itself, as when what stood above it goes: the finger was
// meant for something else. It gives a function of an event; its .now says what is drawn.
export function useGuard(box, what) {
  const [ready, setReady] = useState(false);
  const since = useRef(Infinity);
  const place = useRef(null);
  useEffect(() => {
    const element = box.current;
    let timer = 0;
    let looks = 0;
    let inSight = false;
    const settle = () => {
      clearTimeout(timer);
      setReady(false);
      if (since.current < Infinity) timer = setTimeout(() => setReady(true), guard);
    };
    const seen = () => {
      clearInterval(looks);
      const shown = inSight && !document.hidden;
      since.current = shown ? performance.now() : Infinity;
      place.current = null;
      if (shown) looks = setInterval(() => look(element, place) && settle(), often);
      settle();
    };
    const sight = new IntersectionObserver((entries) => {
      if (entries.at(-1).isIntersecting === inSight) return;
      inSight = !inSight;
      seen();
    });
    sight.observe(element);
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearTimeout(timer);
      clearInterval(looks);
      sight.disconnect();
      document.removeEventListener("visibilitychange", seen);
    };
  }, [what]);
  const may = (event) => {
    const at = event?.timeStamp > 0 ? event.timeStamp : performance.now();
    if (at - since.current < guard) return false;
    if (!(event?.detail > 0)) return true; // a key means what has the focus, wherever it is
    look(box.current, place);
    return at - (place.current?.moved ?? -Infinity) >= guard;
  };
  may.now = ready;
  return may;
}

// look notes where an element is, and says whether it has moved though nobody scrolled.
function look(element, place) {
  const top = element.getBoundingClientRect().top;
  let scrolled = window.scrollY;
  for (let e = element.parentElement; e; e = e.parentElement) scrolled += e.scrollTop;
  const was = place.current;
  const moved = was !== null && Math.abs(top - was.top) > still && scrolled === was.scrolled;
  place.current = { top, scrolled, moved: moved ? performance.now() : was?.moved ?? -Infinity };
  return moved;
}
