// A component that reads a signal is rendered again when the signal changes or the component's
// props differ.
import { Component, options } from "preact";
import { Reader } from "./signals.js";

let end = () => {}; // stops the tracking of the component that is being rendered

// hook calls fn before the existing hook of a render step. The names of the hooks are those that
// Preact publishes: __b when a node begins, __r when a component renders, __e when an exception is
// thrown.
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
