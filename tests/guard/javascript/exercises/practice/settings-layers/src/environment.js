'use strict';

const LITERALS = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/**
 * The values of a layer from environment variables: with the prefix `APP_`, `APP_DB__MAX_SIZE=5` is
 * `{ db: { maxSize: 5 } }`.
 */
function fromEnvironment(environment, prefix) {
  const values = {};
  for (const name of Object.keys(environment).sort()) {
    if (!name.startsWith(prefix)) {
      continue;
    }
    const keys = name.slice(prefix.length).split('__').map(camelCase);
    if (keys.includes('')) {
      continue;
    }
    let place = values;
    for (const key of keys.slice(0, -1)) {
      if (!Object.hasOwn(place, key) || typeof place[key] !== 'object' || place[key] === null) {
        place[key] = {};
      }
      place = place[key];
    }
    place[keys[keys.length - 1]] = parse(environment[name]);
  }
  return values;
}

function camelCase(name) {
  return name.toLowerCase().replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

function parse(text) {
  if (LITERALS.has(text)) {
    return LITERALS.get(text);
  }
  return /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
}

module.exports = { fromEnvironment };
