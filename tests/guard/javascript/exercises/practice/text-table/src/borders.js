'use strict';

/**
 * The styles of a table: what is left of, between and right of the cells of a row, and of a line across the table.
 */
const STYLES = {
  plain: { row: ['', '  ', ''], line: ['', '  ', ''], across: '-', frame: false },
  boxed: { row: ['| ', ' | ', ' |'], line: ['+-', '-+-', '-+'], across: '-', frame: true },
  markdown: { row: ['| ', ' | ', ' |'], line: ['|-', '-|-', '-|'], across: '-', frame: false },
};

function style(name) {
  if (!Object.hasOwn(STYLES, name)) {
    throw new RangeError(`no style "${name}"; there are ${Object.keys(STYLES).join(', ')}`);
  }
  return STYLES[name];
}

module.exports = { style };
