'use strict';

const { copy, layersOf, overlay, valueOf } = require('./merge');

class Settings {
  /** `layers` is a list of `{ name, values }`. Later layers win, and `null` removes what is below. */
  constructor(layers) {
    this.layers = layers.map(({ name, values }) => ({ name, values: copy(values) }));
    const names = this.layers.map(({ name }) => name);
    const twice = names.find((name, place) => names.indexOf(name) !== place);
    if (twice !== undefined) {
      throw new RangeError(`layer "${twice}" is given twice`);
    }
  }

  /** The value at a path such as `db.host` or `['db', 'host']`, or the fallback. */
  get(path, fallback = undefined) {
    const node = this.#find(path);
    return node === undefined ? fallback : valueOf(node);
  }

  has(path) {
    return this.#find(path) !== undefined;
  }

  /** The name of the layer of a value, or the names of all layers that have a part in an object. */
  origin(path) {
    const node = this.#find(path);
    if (node === undefined) {
      return undefined;
    }
    if (!node.children) {
      return node.layer;
    }
    const origins = new Set(layersOf(node));
    return this.layers.map(({ name }) => name).filter((name) => origins.has(name));
  }

  /** Exchanges the values of a layer. */
  replace(name, values) {
    const layer = this.layers.find((candidate) => candidate.name === name);
    if (layer === undefined) {
      throw new RangeError(`no layer "${name}"`);
    }
    layer.values = copy(values);
  }

  /** All values in one object. */
  toObject() {
    return this.get([]);
  }

  #find(path) {
    const root = this.layers.reduce((node, { name, values }) => overlay(node, values, name), {
      children: new Map(),
      layers: [],
    });
    const keys = Array.isArray(path) ? path : path.split('.');
    return keys.reduce((node, key) => node?.children?.get(key), root);
  }
}

module.exports = { Settings };
