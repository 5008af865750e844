/** The anchor of a heading: lower case, without punctuation, with hyphens for white space. */
export function slug(title) {
  return title
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/gu, '-');
}
