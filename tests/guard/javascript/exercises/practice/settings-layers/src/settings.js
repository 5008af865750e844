'use strict';

const { merge } = require('./merge');

class Settings {
  /** `layers` is a list of `{ name, values }`. Later layers win. */
  constructor(layers) {
    this.values = layers.reduce((merged, { values }) => merge(merged, values), {});
  }

  /** The value at a path such as `db.host`, or the fallback. */
  get(path, fallback = undefined) {
    const value = path.split('.').reduce((place, key) => place?.[key], this.values);
    return value === undefined ? fallback : value;
  }

  has(path) {
    return this.get(path) !== undefined;
  }

  /** All values in one object. */
  toObject() {
    return this.values;
  }
}

module.exports = { Settings };
