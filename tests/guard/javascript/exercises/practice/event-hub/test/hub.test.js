import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { Hub, record } from '../src/index.js';

let hub;
let heard;

beforeEach(() => {
  hub = new Hub();
  heard = [];
});

/** A listener that writes its name down. */
function note(name) {
  return () => heard.push(name);
}

describe('topics', () => {
  it('passes the event on', () => {
    hub.on('a.b', (event) => heard.push(event));
    assert.equal(hub.emit('a.b', 7), 1);
    assert.equal(hub.emit('a', 8), 0);
    assert.equal(hub.emit('a.b.c', 8), 0);
    assert.deepEqual(heard, [{ topic: 'a.b', data: 7 }]);
  });

  it('rejects bad topics', () => {
    for (const topic of ['', 'a..b', '.a', 'a.', 7]) {
      assert.throws(() => hub.on(topic, () => {}), TypeError);
      assert.throws(() => hub.emit(topic), TypeError);
    }
    assert.throws(() => hub.emit('a.*'), TypeError);
  });

  it('keeps the order of additions', () => {
    hub.on('a.*', note(1));
    hub.on('a.b', note(2));
    hub.on('**', note(3));
    hub.on('a.b', note(4));
    assert.equal(hub.emit('a.b'), 4);
    assert.deepEqual(heard, [1, 2, 3, 4]);
  });
});

describe('patterns', () => {
  function check(pattern, yes, no) {
    const own = new Hub();
    own.on(pattern, () => {});
    for (const topic of yes) {
      assert.equal(own.emit(topic), 1, `${pattern} must hear ${topic}`);
    }
    for (const topic of no) {
      assert.equal(own.emit(topic), 0, `${pattern} must not hear ${topic}`);
    }
  }

  it('matches one part', () => {
    check('order.*', ['order.placed'], ['order', 'order.item.added', 'orders.placed']);
    check('*', ['a'], ['a.b']);
    check('*.b.*', ['a.b.c'], ['b.c', 'a.b', 'a.x.c']);
  });

  it('matches any number of parts at the end', () => {
    check('order.**', ['order', 'order.placed', 'order.item.added'], ['orders', 'new.order']);
  });

  it('matches any number of parts anywhere', () => {
    check('**', ['a', 'a.b.c'], []);
    check('**.added', ['added', 'order.item.added'], ['added.twice', 'readded']);
    check('a.**.z', ['a.z', 'a.b.z', 'a.b.c.z', 'a.z.z'], ['a', 'z', 'a.b']);
    check('**.b.**', ['b', 'a.b', 'b.c', 'a.b.c', 'b.b'], ['a.c', 'a']);
    check('a.**.*', ['a.b', 'a.b.c'], ['a']);
  });

  it('takes other characters as they are', () => {
    check('a+b.*', ['a+b.c'], ['aab.c']);
    check('(x).[y].*', ['(x).[y].z'], ['x.y.z']);
    check('a$.*', ['a$.b'], ['a.b']);
  });
});

describe('changes during an event', () => {
  it('does not call a listener that is added', () => {
    hub.on('a', () => {
      note('first')();
      hub.on('a', note('late'));
      hub.on('*', note('late'));
    });
    assert.equal(hub.emit('a'), 1);
    assert.deepEqual(heard, ['first']);
  });

  it('does not call a listener that is removed', () => {
    hub.on('a', () => {
      note('first')();
      remove();
    });
    const remove = hub.on('a', note('removed'));
    hub.on('a', note('last'));
    assert.equal(hub.emit('a'), 2);
    assert.deepEqual(heard, ['first', 'last']);
  });

  it('does not skip a listener behind one that removes itself', () => {
    const remove = hub.on('a', () => {
      note('first')();
      remove();
    });
    hub.on('a', note('second'));
    hub.emit('a');
    hub.emit('a');
    assert.deepEqual(heard, ['first', 'second', 'second']);
  });

  it('does not skip a listener behind one for one event', () => {
    hub.once('a', note('once'));
    hub.on('a', note('on'));
    hub.emit('a');
    hub.emit('a');
    assert.deepEqual(heard, ['once', 'on', 'on']);
  });
});

describe('once', () => {
  it('calls once', () => {
    hub.once('a.*', note('once'));
    assert.equal(hub.emit('a.b'), 1);
    assert.equal(hub.emit('a.c'), 0);
    assert.deepEqual(heard, ['once']);
  });

  it('is removed before the call', () => {
    hub.once('a', () => {
      heard.push('once');
      if (heard.length < 5) {
        hub.emit('a');
      }
    });
    hub.emit('a');
    assert.deepEqual(heard, ['once']);
  });

  it('is removed if it throws', () => {
    hub.once('a', () => {
      throw new Error('no');
    });
    assert.throws(() => hub.emit('a'), /no/);
    assert.equal(hub.emit('a'), 0);
  });

  it('is not called by the outer event if the inner one took it', () => {
    let nested = false;
    hub.on('a', () => {
      if (!nested) {
        nested = true;
        hub.emit('a');
      }
    });
    hub.once('a', note('once'));
    assert.equal(hub.emit('a'), 1);
    assert.deepEqual(heard, ['once']);
  });
});

describe('removal', () => {
  it('tells whether there was a listener', () => {
    const listener = note('x');
    hub.on('a', listener);
    assert.equal(hub.off('b', listener), false);
    assert.equal(hub.off('*', listener), false);
    assert.equal(hub.off('a', listener), true);
    assert.equal(hub.off('a', listener), false);
  });

  it('removes just one addition', () => {
    const listener = note('x');
    const remove = hub.on('a', listener);
    hub.on('a', listener);
    hub.on('a', listener);
    remove();
    remove();
    assert.equal(hub.emit('a'), 2);
  });

  it('removes its own addition, not an equal one', () => {
    const listener = note('x');
    hub.on('a', listener);
    hub.on('a', note('y'));
    hub.on('a', listener)();
    hub.emit('a');
    assert.deepEqual(heard, ['x', 'y']);
  });

  it('removes the most recent addition first', () => {
    const listener = note('x');
    hub.on('a', listener);
    hub.on('a', note('y'));
    hub.on('a', listener);
    hub.off('a', listener);
    hub.emit('a');
    assert.deepEqual(heard, ['x', 'y']);
  });

  it('finds listeners for one event', () => {
    const listener = note('x');
    hub.once('a.*', listener);
    assert.equal(hub.off('a.*', listener), true);
    assert.equal(hub.emit('a.b'), 0);
  });
});

describe('errors', () => {
  function fail(message) {
    return () => {
      throw new Error(message);
    };
  }

  it('throws the error of a single listener after the others', () => {
    hub.on('a', fail('one'));
    hub.on('a', note('second'));
    assert.throws(() => hub.emit('a'), { name: 'Error', message: 'one' });
    assert.deepEqual(heard, ['second']);
  });

  it('throws all errors', () => {
    hub.on('*', fail('one'));
    hub.on('a', fail('two'));
    hub.on('*', note('third'));
    assert.throws(
      () => hub.emit('a'),
      (error) => error instanceof AggregateError && error.errors.map(({ message }) => message).join() === 'one,two',
    );
    assert.deepEqual(heard, ['third']);
  });
});

describe('record', () => {
  it('keeps the last events', () => {
    const { events, stop } = record(hub, '*', 2);
    ['a', 'b', 'c'].forEach((topic, data) => hub.emit(topic, data));
    stop();
    hub.emit('d');
    assert.deepEqual(events, [{ topic: 'b', data: 1 }, { topic: 'c', data: 2 }]);
  });
});
