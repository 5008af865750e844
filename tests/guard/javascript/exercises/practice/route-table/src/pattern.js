'use strict';

/**
 * Compiles the path of a route. A segment is a literal, a parameter (`:id`) or, at the end, a rest (`*path`).
 */
function compile(path) {
  if (!path.startsWith('/')) {
    throw new TypeError(`the path of a route must start with a slash: ${path}`);
  }
  const parts = path.split('/').slice(1);
  const segments = path === '/' ? [] : parts.map(segment);
  segments.forEach(({ kind }, place) => {
    if (kind === 'rest' && place !== segments.length - 1) {
      throw new TypeError(`a rest must be the last segment: ${path}`);
    }
  });
  return { path, segments };
}

function segment(text) {
  if (text.startsWith(':')) {
    return { kind: 'parameter', name: text.slice(1) };
  }
  if (text.startsWith('*')) {
    return { kind: 'rest', name: text.slice(1) };
  }
  return { kind: 'literal', text };
}

/**
 * The parameters if the path matches, else null.
 */
function match(pattern, path) {
  const parts = path.split('/').slice(1);
  const params = {};
  for (let place = 0; place < pattern.segments.length; place += 1) {
    const { kind, name, text } = pattern.segments[place];
    if (kind === 'rest') {
      params[name] = parts.slice(place).join('/');
      return params;
    }
    if (kind === 'literal' ? parts[place] !== text : parts[place] === undefined) {
      return null;
    }
    if (kind === 'parameter') {
      params[name] = decodeURIComponent(parts[place].replace(/\+/g, ' '));
    }
  }
  return params;
}

module.exports = { compile, match };
