'use strict';

const { style } = require('./borders');
const { fill, textOf } = require('./cell');

/**
 * Renders rows of values as a table. Rows may have different lengths; missing cells are empty.
 *
 * Options: `style` (plain, boxed or markdown), `header` (the first row is a header).
 */
function render(rows, options = {}) {
  const { row: marks, line: corners, across, frame } = style(options.style ?? 'plain');
  const count = Math.max(0, ...rows.map((row) => row.length));
  const texts = rows.map((row) => Array.from({ length: count }, (_, column) => textOf(row[column])));
  const widths = Array.from({ length: count }, (_, column) => Math.max(...texts.map((row) => row[column].length)));
  if (count === 0) {
    return '';
  }

  const separator = join(corners, widths.map((width) => across.repeat(width)));
  const lines = texts.map((row) => join(marks, row.map((text, column) => fill(text, widths[column]))));
  if (options.header) {
    lines.splice(1, 0, separator);
  }
  if (frame) {
    lines.unshift(separator);
    if (!(options.header && texts.length === 1)) {
      lines.push(separator);
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

function join([left, between, right], parts) {
  return `${left}${parts.join(between)}${right}`.trimEnd();
}

module.exports = { render };
