import { slug } from './slug.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;

/**
 * The headings of a text: `{ level, title, anchor, line }`, where `line` counts from 1.
 */
export function headings(markdown) {
  const found = [];
  let fence = null;
  markdown.split(/\r?\n/).forEach((text, place) => {
    const mark = text.match(FENCE);
    if (fence !== null) {
      if (mark && mark[1].startsWith(fence) && text.trim() === mark[1]) {
        fence = null;
      }
      return;
    }
    if (mark) {
      fence = mark[1];
      return;
    }
    const heading = text.match(HEADING);
    if (heading) {
      const title = (heading[2] ?? '').replace(/(^|[ \t]+)#+[ \t]*$/, '').trim();
      found.push({ level: heading[1].length, title, anchor: slug(title), line: place + 1 });
    }
  });
  return found;
}
