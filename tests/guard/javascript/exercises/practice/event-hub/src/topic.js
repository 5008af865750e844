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

/** Whether a pattern hears a topic. */
export function hears(pattern, topic) {
  const source = pattern.replaceAll('.', '\\.').replaceAll('*', '[^.]+');
  return new RegExp(`^${source}$`).test(topic);
}
