// A component that has read a signal is rendered again when the signal changes, and only then, or when
// it gets other props.
import { Component, options } from "preact";
import { Reader } from "./signals.js";

let end = () => {}; // ends what the component that renders reads

// hook has fn run before what Preact, or others, do at a step of rendering. The steps have the names that
// Preact publishes them with: __b a node begins, __r a component renders, __e something was thrown.
function hook(step, fn) {
  const others = options[step];
  options[step] = (...args) => {
    fn(...args);
    return others?.(...args);
  };
}

const done = () => {
  end();
  end = () => {};
};

hook("__b", done);
hook("__r", ({ __c: component }) => {
  done();
  component.reader ??= new Reader(() => component.forceUpdate());
  end = component.reader.begin();
});
hook("__e", done);
hook("diffed", done);
hook("unmount", ({ __c: component }) => component?.reader?.stop());

Component.prototype.shouldComponentUpdate = function (props) {
  const was = this.props;
  return !this.reader?.sources.size || Object.keys({ ...was, ...props }).some((k) => was[k] !== props[k]);
};
