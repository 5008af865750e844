'use strict';

const assert = require('node:assert/strict');
const { describe, it } = require('node:test');

const { Settings, explain, fromEnvironment } = require('../src');

/** Settings with the layers `one`, `two`, `three`. */
function settings(...values) {
  const names = ['one', 'two', 'three'];
  return new Settings(values.map((layer, place) => ({ name: names[place], values: layer })));
}

describe('values', () => {
  const made = settings({ db: { host: 'a', port: 1 }, list: [1, 2], debug: false }, { db: { port: 2 }, list: [3] });

  it('takes the highest layer', () => {
    assert.equal(made.get('db.host'), 'a');
    assert.equal(made.get('db.port'), 2);
    assert.deepEqual(made.get('db'), { host: 'a', port: 2 });
    assert.deepEqual(made.get('list'), [3]);
    assert.equal(made.get('debug', true), false);
  });

  it('has a fallback', () => {
    assert.equal(made.get('db.name'), undefined);
    assert.equal(made.get('db.name.first', 7), 7);
    assert.equal(made.has('db.name'), false);
    assert.equal(made.has('db'), true);
  });

  it('is one object', () => {
    assert.deepEqual(made.toObject(), { db: { host: 'a', port: 2 }, list: [3], debug: false });
    assert.deepEqual(settings().toObject(), {});
  });

  it('replaces values of other kinds', () => {
    assert.deepEqual(settings({ a: { b: 1 } }, { a: 'x' }).toObject(), { a: 'x' });
    assert.deepEqual(settings({ a: 'x' }, { a: { b: 1 } }).toObject(), { a: { b: 1 } });
    assert.deepEqual(settings({ a: { b: 1 } }, { a: [] }, { a: { c: 1 } }).toObject(), { a: { c: 1 } });
    const day = new Date(0);
    assert.equal(+settings({ a: { b: 1 } }, { a: day }).get('a'), 0);
  });
});

describe('paths', () => {
  it('may be lists', () => {
    const made = settings({ 'a.b': { c: 1 }, a: { b: { c: 2 } } });
    assert.equal(made.get(['a.b', 'c']), 1);
    assert.equal(made.get('a.b.c'), 2);
    assert.equal(made.has(['a', 'b.c']), false);
    assert.equal(made.origin(['a.b', 'c']), 'one');
  });

  it('follow own keys of plain objects only', () => {
    const made = settings({ list: ['x'], name: 'abc', a: {} });
    for (const path of ['list.0', 'list.length', 'name.length', 'name.0', 'constructor', '__proto__', 'a.toString']) {
      assert.equal(made.get(path), undefined, path);
      assert.equal(made.has(path), false, path);
      assert.equal(made.origin(path), undefined, path);
    }
  });

  it('never reach a prototype', () => {
    const made = settings(JSON.parse('{"__proto__": {"x": 1}, "a": {"constructor": 2}}'), JSON.parse('{"__proto__": {"y": 2}}'));
    assert.equal({}.x, undefined);
    assert.equal({}.y, undefined);
    assert.equal(made.get('__proto__.x'), 1);
    assert.equal(made.get('a.constructor'), 2);
    const object = made.toObject();
    assert.equal(Object.getPrototypeOf(object), Object.prototype);
    assert.equal(JSON.stringify(object), '{"__proto__":{"x":1,"y":2},"a":{"constructor":2}}');
  });
});

describe('removal', () => {
  it('removes what is below', () => {
    const made = settings({ a: 1, db: { host: 'a' } }, { a: null, db: null });
    assert.deepEqual(made.toObject(), {});
    assert.equal(made.has('db'), false);
    assert.equal(made.get('db.host', 'none'), 'none');
    assert.equal(made.get('a', 'none'), 'none');
    assert.equal(made.origin('a'), undefined);
  });

  it('is not undone by higher layers', () => {
    const made = settings({ db: { host: 'a', port: 1 } }, { db: null }, { db: { port: 2 } });
    assert.deepEqual(made.toObject(), { db: { port: 2 } });
    assert.deepEqual(made.origin('db'), ['three']);
  });

  it('works inside objects that are new', () => {
    assert.deepEqual(settings({ a: { b: null, c: { d: null } } }).toObject(), { a: { c: {} } });
    assert.deepEqual(settings({ a: 1 }, { a: { b: null, c: 1 } }).toObject(), { a: { c: 1 } });
  });

  it('leaves an empty object', () => {
    const made = settings({ a: { b: 1 } }, { a: { b: null } });
    assert.deepEqual(made.toObject(), { a: {} });
    assert.equal(made.has('a'), true);
  });

  it('keeps null in lists', () => {
    assert.deepEqual(settings({ a: [null] }).get('a'), [null]);
  });
});

describe('origin', () => {
  const made = settings(
    { db: { host: 'a', port: 1, pool: { size: 1 } }, cache: {} },
    { db: { port: 2, pool: { size: 2 } }, cache: {} },
    { db: { port: 3 }, log: { level: 'x' } },
  );

  it('names the layer of a value', () => {
    assert.equal(made.origin('db.host'), 'one');
    assert.equal(made.origin('db.port'), 'three');
    assert.equal(made.origin('db.pool.size'), 'two');
  });

  it('names all layers of an object, lowest first', () => {
    assert.deepEqual(made.origin('db'), ['one', 'two', 'three']);
    assert.deepEqual(made.origin('db.pool'), ['two']);
    assert.deepEqual(made.origin('log'), ['three']);
    assert.deepEqual(settings({ a: { y: 1 } }, { a: { x: 1, y: 1 } }, { a: { x: 2 } }).origin('a'), ['two', 'three']);
  });

  it('counts empty objects', () => {
    assert.deepEqual(made.origin('cache'), ['one', 'two']);
    assert.deepEqual(settings({ a: {} }, { a: { b: 1 } }).origin('a'), ['two']);
    assert.deepEqual(settings({ a: { b: {} } }, { a: { c: 1 } }).origin('a'), ['one', 'two']);
  });

  it('is undefined without a value', () => {
    assert.equal(made.origin('db.name'), undefined);
  });
});

describe('layers', () => {
  it('can be replaced', () => {
    const made = settings({ a: 1, b: 1 }, { a: 2 });
    made.replace('two', { b: 2 });
    assert.deepEqual(made.toObject(), { a: 1, b: 2 });
    assert.equal(made.origin('a'), 'one');
    made.replace('one', {});
    assert.deepEqual(made.toObject(), { b: 2 });
  });

  it('have names that differ and are known', () => {
    assert.throws(() => settings({}).replace('x', {}), { name: 'RangeError', message: 'no layer "x"' });
    const layer = { name: 'file', values: {} };
    assert.throws(() => new Settings([layer, layer]), { name: 'RangeError', message: 'layer "file" is given twice' });
  });

  it('are not changed', () => {
    const one = { db: { port: 1 } };
    const two = { db: { host: 'b' } };
    settings(one, two).toObject();
    assert.deepEqual([one, two], [{ db: { port: 1 } }, { db: { host: 'b' } }]);
  });

  it('are not noticed to change', () => {
    const values = { db: { port: 1 }, list: [{ x: 1 }] };
    const made = settings({}, {}, values);
    const fresh = { a: { b: 1 } };
    made.replace('one', fresh);
    values.db.port = 2;
    values.list[0].x = 2;
    fresh.a.b = 2;
    assert.deepEqual(made.toObject(), { a: { b: 1 }, db: { port: 1 }, list: [{ x: 1 }] });
  });

  it('are not reached through results', () => {
    const made = settings({ db: { port: 1 }, list: [{ x: 1 }] });
    made.get('db').port = 2;
    made.get('list')[0].x = 2;
    made.toObject().db.host = 'b';
    assert.deepEqual(made.toObject(), { db: { port: 1 }, list: [{ x: 1 }] });
  });
});

describe('explain', () => {
  it('lists all values', () => {
    const made = settings({ db: { port: 1, host: 'a' }, cache: {}, 'x.y': 1 }, { db: { port: 2 }, cache: {}, list: [1] });
    assert.deepEqual(explain(made), [
      'cache = {} (one, two)',
      'db.host = "a" (one)',
      'db.port = 2 (two)',
      'list = [1] (two)',
      'x.y = 1 (one)',
    ]);
    assert.deepEqual(explain(settings()), []);
  });
});

describe('environment', () => {
  it('makes a layer', () => {
    const values = fromEnvironment({ APP_DB__MAX_SIZE: '5', APP_DEBUG: 'true', APP_NAME: '1.x', HOME: '/', APP___X: '1' }, 'APP_');
    assert.deepEqual(values, { db: { maxSize: 5 }, debug: true, name: '1.x' });
  });

  it('can remove a value', () => {
    const made = settings({ db: { host: 'a' } }, fromEnvironment({ APP_DB__HOST: 'null' }, 'APP_'));
    assert.equal(made.has('db.host'), false);
  });
});
