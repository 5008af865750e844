'use strict';

function isPlain(value) {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Sets an own key, also one such as `__proto__`. */
function setOwn(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** A deep copy of plain objects and arrays. Other values are shared. */
function copy(value) {
  if (Array.isArray(value)) {
    return value.map(copy);
  }
  if (!isPlain(value)) {
    return value;
  }
  const made = {};
  for (const key of Object.keys(value)) {
    setOwn(made, key, copy(value[key]));
  }
  return made;
}

/**
 * Puts the value of a layer over a node, and returns the new node, or undefined if nothing is left.
 *
 * A node is `{ children, layers }` for an object, with the layers that have an object there, or `{ value, layer }`.
 */
function overlay(node, value, layer) {
  if (value === undefined) {
    return node;
  }
  if (value === null) {
    return undefined;
  }
  if (!isPlain(value)) {
    return { value, layer };
  }
  const object = node?.children ? node : { children: new Map(), layers: [] };
  object.layers.push(layer);
  for (const key of Object.keys(value)) {
    const child = overlay(object.children.get(key), value[key], layer);
    if (child === undefined) {
      object.children.delete(key);
    } else {
      object.children.set(key, child);
    }
  }
  return object;
}

/** The value of a node, as a copy. */
function valueOf(node) {
  if (!node.children) {
    return copy(node.value);
  }
  const made = {};
  for (const [key, child] of node.children) {
    setOwn(made, key, valueOf(child));
  }
  return made;
}

/** The layers of all values in a node. */
function layersOf(node) {
  if (!node.children) {
    return [node.layer];
  }
  return node.children.size === 0 ? node.layers : [...node.children.values()].flatMap(layersOf);
}

module.exports = { copy, isPlain, layersOf, overlay, valueOf };
