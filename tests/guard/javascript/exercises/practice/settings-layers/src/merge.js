'use strict';

function isPlain(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Puts the values of `over` into `base`. */
function merge(base, over) {
  for (const key of Object.keys(over)) {
    if (isPlain(base[key]) && isPlain(over[key])) {
      merge(base[key], over[key]);
    } else {
      base[key] = over[key];
    }
  }
  return base;
}

module.exports = { isPlain, merge };
