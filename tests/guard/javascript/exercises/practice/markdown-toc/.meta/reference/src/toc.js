import { headings, visit } from './headings.js';

const OPEN = '<!-- toc -->';
const CLOSE = '<!-- /toc -->';

/** The table of contents as a Markdown list, one line for each heading. */
export function toc(markdown, options = {}) {
  return list(headings(markdown), options).join('\n');
}

/** The text with its table of contents brought up to date. */
export function update(markdown, options = {}) {
  const markers = find(markdown);
  if (markers === null) {
    return markdown;
  }
  const { open, close } = markers;
  const lines = list(headings(markdown).filter(({ line }) => line > close), options);
  const parts = markdown.split(/(?<=\n)/);
  const end = parts[open - 1].endsWith('\r\n') ? '\r\n' : '\n';
  const table = lines.length > 0 ? ['', ...lines, ''] : [''];
  return [...parts.slice(0, open), ...table.map((line) => line + end), ...parts.slice(close - 1)].join('');
}

/** The line numbers of the first pair of markers, or null if there is none. */
function find(markdown) {
  let open = 0;
  let close = 0;
  visit(markdown, (text, line) => {
    if (open === 0 && text?.trim() === OPEN) {
      open = line;
    } else if (open > 0 && close === 0 && text?.trim() === CLOSE) {
      close = line;
    }
  });
  if (open > 0 && close === 0) {
    throw new Error(`line ${open}: ${OPEN} is not closed`);
  }
  return open > 0 ? { open, close } : null;
}

function list(found, { min = 1, max = 6 }) {
  const parents = [];
  const lines = [];
  for (const { level, title, anchor } of found) {
    if (level < min || level > max) {
      continue;
    }
    while (parents.length > 0 && parents[parents.length - 1] >= level) {
      parents.pop();
    }
    lines.push(`${'  '.repeat(parents.length)}- [${title}](#${anchor})`);
    parents.push(level);
  }
  return lines;
}
