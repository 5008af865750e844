'use strict';

const assert = require('node:assert/strict');
const { describe, it } = require('node:test');

const { renderRecords } = require('../src/records');
const { render } = require('../src/table');

function check(rows, options, ...lines) {
  assert.equal(render(rows, options), lines.map((line) => `${line}\n`).join(''));
}

const FRUIT = [
  ['fruit', 'count'],
  ['apple', 12],
  ['fig', 3],
];

describe('present output', () => {
  it('is plain', () => {
    check(FRUIT, {}, 'fruit  count', 'apple  12', 'fig    3');
    check(FRUIT, { header: true }, 'fruit  count', '-----  -----', 'apple  12', 'fig    3');
  });

  it('has borders', () => {
    check(
      FRUIT,
      { header: true, style: 'boxed' },
      '+-------+-------+',
      '| fruit | count |',
      '+-------+-------+',
      '| apple | 12    |',
      '| fig   | 3     |',
      '+-------+-------+',
    );
    check([['a']], { header: true, style: 'boxed' }, '+---+', '| a |', '+---+');
    check(FRUIT.slice(1), { header: true, style: 'markdown' }, '| apple | 12 |', '|-------|----|', '| fig   | 3  |');
  });

  it('fills up rows', () => {
    check([['a', null, 0], [], ['b', undefined, false]], {}, 'a    0', '', 'b    false');
    assert.equal(render([]), '');
    assert.equal(render([[], []]), '');
  });

  it('renders records', () => {
    assert.equal(renderRecords([{ a: 1 }, { b: 2, a: 3 }]), 'a  b\n-  -\n1\n3  2\n');
  });

  it('rejects unknown styles', () => {
    assert.throws(() => render([], { style: 'round' }), RangeError);
  });

  it('counts code points', () => {
    check([['a😀b', 'x'], ['abcd', 'y']], {}, 'a😀b   x', 'abcd  y');
    check([['😀']], { style: 'boxed' }, '+---+', '| 😀 |', '+---+');
  });
});

describe('alignment', () => {
  it('goes left, right and to the middle', () => {
    const columns = [{ align: 'right' }, { align: 'center' }, { align: 'left' }];
    check([['a', 'b', 'c'], ['aaa', 'bbbb', 'ccc']], { columns }, '  a   b    c', 'aaa  bbbb  ccc');
    check([['a', 'b', 'c']], { columns: [null, columns[0]] }, 'a  b  c');
  });

  it('includes the header', () => {
    check(FRUIT, { header: true, columns: [null, { align: 'right' }] }, 'fruit  count', '-----  -----', 'apple     12', 'fig        3');
    check(
      [['n', 'x'], ['100', '']],
      { header: true, style: 'markdown', columns: [{ align: 'right' }] },
      '|   n | x |',
      '|-----|---|',
      '| 100 |   |',
    );
  });

  it('puts an odd space on the right', () => {
    check(
      [['ab'], ['a'], ['abcd']],
      { style: 'markdown', columns: [{ align: 'center' }] },
      '|  ab  |',
      '|  a   |',
      '| abcd |',
    );
  });
});

describe('wrapping', () => {
  const word = (width) => ({ columns: [{ width }] });

  it('breaks at spaces', () => {
    check([['one two three']], word(7), 'one two', 'three');
    check([['one two three']], word(6), 'one', 'two', 'three');
    check([['one two']], word(7), 'one two');
  });

  it('splits long words', () => {
    check([['a incomprehensible b c']], word(6), 'a', 'incomp', 'rehens', 'ible b', 'c');
    check([['abcdef']], word(3), 'abc', 'def');
    check([['😀😀😀']], word(2), '😀😀', '😀');
  });

  it('reduces white space only if it wraps', () => {
    check([['a    b']], word(6), 'a    b');
    check([['a    b']], word(5), 'a b');
    check([['a    b \t c']], word(3), 'a b', 'c');
  });

  it('fills up the other cells', () => {
    check(
      [['one two', 'x', 1], ['y', 'long word', 2]],
      { style: 'boxed', columns: [{ width: 3 }, { width: 4, align: 'right' }] },
      '+-----+------+---+',
      '| one |    x | 1 |',
      '| two |      |   |',
      '| y   | long | 2 |',
      '|     | word |   |',
      '+-----+------+---+',
    );
  });

  it('makes the column as wide as its widest line', () => {
    check([['aaa bbb', 'x']], { columns: [{ width: 5 }] }, 'aaa  x', 'bbb');
    check([['a', 'x']], { columns: [{ width: 50 }] }, 'a  x');
  });

  it('wraps the header', () => {
    check([['the count', 'b'], [1, 2]], { header: true, columns: [{ width: 5, align: 'right' }] }, '  the  b', 'count', '-----  -', '    1  2');
  });

  it('begins new lines at line breaks', () => {
    check([['a\nb c\n', 'x'], ['d', 'y']], {}, 'a    x', 'b c', '', 'd    y');
    check([['aa bb\ncc']], word(2), 'aa', 'bb', 'cc');
  });
});

describe('cutting', () => {
  const cut = (width) => ({ columns: [{ width, wrap: 'cut' }] });

  it('ends in an ellipsis', () => {
    check([['one two three'], ['one two']], cut(7), 'one tw…', 'one two');
    check([['abc']], cut(1), '…');
    check([['😀😀😀']], cut(2), '😀…');
  });

  it('cuts each line on its own', () => {
    check([['abcd\nef\nghij']], cut(3), 'ab…', 'ef', 'gh…');
  });

  it('keeps white space', () => {
    check([['a   b c']], cut(6), 'a   b…');
  });
});

describe('footer', () => {
  it('is set apart', () => {
    const options = { header: true, footer: true };
    check([...FRUIT, ['sum', 15]], options, 'fruit  count', '-----  -----', 'apple  12', 'fig    3', '-----  -----', 'sum    15');
    check([['a'], ['b']], { footer: true }, 'a', '-', 'b');
  });

  it('may have several lines', () => {
    check([['a'], ['b\nc']], { footer: true, style: 'boxed' }, '+---+', '| a |', '+---+', '| b |', '| c |', '+---+');
  });

  it('does not repeat the line below the header', () => {
    check([['a'], ['b']], { header: true, footer: true }, 'a', '-', 'b');
  });

  it('needs other rows', () => {
    check([['a']], { footer: true }, 'a');
    check([['a']], { footer: true, style: 'boxed' }, '+---+', '| a |', '+---+');
    assert.equal(render([['a']], { header: true, footer: true }), render([['a']], { header: true }));
  });
});

describe('bad columns', () => {
  function fails(columns, message) {
    assert.throws(() => render([['a', 'b']], { columns }), { name: 'RangeError', message });
  }

  it('names the column', () => {
    fails([null, { align: 'middle' }], 'column 2: bad align "middle"');
    fails([{ width: 0 }], 'column 1: bad width "0"');
    fails([{ width: 2.5 }], 'column 1: bad width "2.5"');
    fails([{ width: '3' }], 'column 1: bad width "3"');
    fails([{}, { wrap: 'no' }], 'column 2: bad wrap "no"');
  });
});
