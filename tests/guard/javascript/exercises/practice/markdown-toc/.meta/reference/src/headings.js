import { slug } from './slug.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const UNDERLINE = /^ {0,3}(?:(=+)|-+)[ \t]*$/;
const NOT_UNDERLINED = /^(?: {4}| {0,3}(?:>|[-*][ \t]|[0-9]+\.[ \t]))/;

/**
 * Visits each line outside code fences with its text and its number, which counts from 1. The lines of a fence itself
 * are visited as null.
 */
export function visit(markdown, line) {
  let fence = null;
  markdown.split(/\r?\n/).forEach((text, place) => {
    const mark = text.match(FENCE);
    if (fence !== null) {
      if (mark && mark[1].startsWith(fence) && text.trim() === mark[1]) {
        fence = null;
      }
      line(null, place + 1);
    } else if (mark) {
      fence = mark[1];
      line(null, place + 1);
    } else {
      line(text, place + 1);
    }
  });
}

/**
 * The headings of a text: `{ level, title, anchor, line }`, where `line` counts from 1.
 */
export function headings(markdown) {
  const found = [];
  const anchors = new Set();
  const add = (level, title, line) => {
    found.push({ level, title, anchor: unique(slug(title), anchors), line });
  };
  // The line before, if it may be underlined.
  let above = null;
  visit(markdown, (text, line) => {
    const heading = text?.match(HEADING);
    const underline = text?.match(UNDERLINE);
    if (heading) {
      add(heading[1].length, (heading[2] ?? '').replace(/(^|[ \t]+)#+[ \t]*$/, '').trim(), line);
      above = null;
    } else if (underline && above !== null) {
      add(underline[1] ? 1 : 2, above.trim(), line - 1);
      above = null;
    } else {
      above = text === null || underline || text.trim() === '' || NOT_UNDERLINED.test(text) ? null : text;
    }
  });
  return found;
}

function unique(base, taken) {
  let anchor = base;
  for (let number = 1; taken.has(anchor); number += 1) {
    anchor = `${base}-${number}`;
  }
  taken.add(anchor);
  return anchor;
}
