'use strict';

const { isPlain } = require('./merge');

/** The settings as sorted lines such as `db.host = "a" (file)`. An object is shown by what is in it. */
function explain(settings) {
  const lines = [];
  const walk = (value, keys) => {
    if (isPlain(value) && Object.keys(value).length > 0) {
      Object.keys(value).forEach((key) => walk(value[key], [...keys, key]));
    } else if (keys.length > 0) {
      lines.push(`${keys.join('.')} = ${JSON.stringify(value)} (${[settings.origin(keys)].flat().join(', ')})`);
    }
  };
  walk(settings.toObject(), []);
  return lines.sort();
}

module.exports = { explain };
