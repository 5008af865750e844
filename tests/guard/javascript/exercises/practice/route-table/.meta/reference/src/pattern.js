'use strict';

const RANKS = { literal: 0, parameter: 1, rest: 2 };

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
 * The decoded segments of the path of a URL. Throws URIError if the encoding is malformed.
 */
function split(url) {
  const path = url.split(/[?#]/, 1)[0].replace(/\/$/, '');
  return path.split('/').slice(1).map(decodeURIComponent);
}

/**
 * The parameters if the segments match, else null.
 */
function match(pattern, parts) {
  const params = {};
  for (let place = 0; place < pattern.segments.length; place += 1) {
    const { kind, name, text } = pattern.segments[place];
    if (kind === 'rest') {
      params[name] = parts.slice(place).join('/');
      return params;
    }
    const part = parts[place];
    if (kind === 'literal' ? part !== text : !part) {
      return null;
    }
    if (kind === 'parameter') {
      params[name] = part;
    }
  }
  return parts.length === pattern.segments.length ? params : null;
}

/**
 * Sorts patterns that match the same path: the more specific one comes first.
 */
function compare(one, other) {
  const length = Math.max(one.segments.length, other.segments.length);
  for (let place = 0; place < length; place += 1) {
    const difference = rank(one, place) - rank(other, place);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}

// Of two patterns for one path only the longer one can have a rest here, which may be empty.
function rank(pattern, place) {
  return place < pattern.segments.length ? RANKS[pattern.segments[place].kind] : 0;
}

module.exports = { compare, compile, match, split };
