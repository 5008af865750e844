'use strict';

const ALIGNS = ['left', 'right', 'center'];
const WRAPS = ['word', 'cut'];

/** The options of a column with the defaults filled in. `number` counts from 1. */
function columnOptions(given, number) {
  const { align = 'left', width = Infinity, wrap = 'word' } = given ?? {};
  const check = (holds, name, value) => {
    if (!holds) {
      throw new RangeError(`column ${number}: bad ${name} "${value}"`);
    }
  };
  check(ALIGNS.includes(align), 'align', align);
  check(width === Infinity || (Number.isInteger(width) && width > 0), 'width', width);
  check(WRAPS.includes(wrap), 'wrap', wrap);
  return { align, width, wrap };
}

/** The text of a cell. */
function textOf(value) {
  return value === null || value === undefined ? '' : String(value);
}

/** The width of a text in code points. */
function widthOf(text) {
  return [...text].length;
}

/** The lines of a cell. */
function linesOf(value, { width, wrap }) {
  return textOf(value)
    .split('\n')
    .flatMap((line) => {
      if (widthOf(line) <= width) {
        return [line];
      }
      return wrap === 'cut' ? [cut(line, width)] : wrapWords(line, width);
    });
}

function cut(line, width) {
  return `${[...line].slice(0, width - 1).join('')}…`;
}

function wrapWords(line, width) {
  const lines = [];
  let current = '';
  for (const word of line.split(/\s+/).filter((part) => part !== '')) {
    const points = [...word];
    if (current !== '' && widthOf(current) + 1 + points.length <= width) {
      current += ` ${word}`;
      continue;
    }
    if (current !== '') {
      lines.push(current);
    }
    while (points.length > width) {
      lines.push(points.splice(0, width).join(''));
    }
    current = points.join('');
  }
  lines.push(current);
  return lines;
}

/** Fills a text up to a width. */
function fill(text, width, align) {
  const missing = width - widthOf(text);
  const left = { left: 0, right: missing, center: Math.floor(missing / 2) }[align];
  return ' '.repeat(left) + text + ' '.repeat(missing - left);
}

module.exports = { columnOptions, fill, linesOf, widthOf };
