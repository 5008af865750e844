'use strict';

const { style } = require('./borders');
const { columnOptions, fill, linesOf, widthOf } = require('./cell');

/**
 * Renders rows of values as a table. Rows may have different lengths; missing cells are empty.
 *
 * Options: `style` (plain, boxed or markdown), `header` (the first row is a header), `footer` (the last row is set
 * apart), and `columns`, an object with `align`, `width` and `wrap` for each column.
 */
function render(rows, options = {}) {
  const { row: marks, line: corners, across, frame } = style(options.style ?? 'plain');
  const count = Math.max(0, ...rows.map((row) => row.length));
  const columns = Array.from({ length: Math.max(count, options.columns?.length ?? 0) }, (_, column) =>
    columnOptions(options.columns?.[column], column + 1),
  );
  if (count === 0) {
    return '';
  }
  const cells = rows.map((row) => Array.from({ length: count }, (_, column) => linesOf(row[column], columns[column])));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...cells.flatMap((row) => row[column].map(widthOf))),
  );

  const separator = join(corners, widths.map((width) => across.repeat(width)));
  const blocks = cells.map((row) => {
    const height = Math.max(...row.map((lines) => lines.length));
    return Array.from({ length: height }, (_, place) =>
      join(marks, row.map((lines, column) => fill(lines[place] ?? '', widths[column], columns[column].align))),
    );
  });
  if (options.footer && blocks.length > (options.header ? 2 : 1)) {
    blocks.splice(-1, 0, [separator]);
  }
  if (options.header) {
    blocks.splice(1, 0, [separator]);
  }
  const lines = blocks.flat();
  if (frame) {
    lines.unshift(separator);
    if (!(options.header && rows.length === 1)) {
      lines.push(separator);
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

function join([left, between, right], parts) {
  return `${left}${parts.join(between)}${right}`.trimEnd();
}

module.exports = { render };
