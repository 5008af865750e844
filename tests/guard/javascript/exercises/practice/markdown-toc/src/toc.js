import { headings } from './headings.js';

/** The table of contents as a Markdown list, one line for each heading. */
export function toc(markdown) {
  return list(headings(markdown));
}

function list(found) {
  return found.map(({ level, title, anchor }) => `${'  '.repeat(level - 1)}- [${title}](#${anchor})`).join('\n');
}
