/** Checks a topic or a pattern. */
export function check(text) {
  if (typeof text !== 'string' || text.split('.').includes('')) {
    throw new TypeError(`bad topic: ${text}`);
  }
}

/** Whether a text is a pattern, and not a plain topic. */
export function isPattern(text) {
  return text.includes('*');
}

/** Whether a pattern hears a topic. A plain topic hears only itself. */
export function hears(pattern, topic) {
  return matches(pattern.split('.'), topic.split('.'));
}

function matches(wanted, parts) {
  if (wanted.length === 0) {
    return parts.length === 0;
  }
  const [first, ...others] = wanted;
  if (first === '**') {
    return matches(others, parts) || (parts.length > 0 && matches(wanted, parts.slice(1)));
  }
  return parts.length > 0 && (first === '*' || first === parts[0]) && matches(others, parts.slice(1));
}
