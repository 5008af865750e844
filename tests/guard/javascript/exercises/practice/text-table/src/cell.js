'use strict';

/** The text of a cell. */
function textOf(value) {
  return value === null || value === undefined ? '' : String(value);
}

/** Fills a text up to a width. */
function fill(text, width) {
  return text.padEnd(width);
}

module.exports = { fill, textOf };
