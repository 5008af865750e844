import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { headings } from '../src/headings.js';
import * as contents from '../src/toc.js';

const { toc } = contents;
const update = (...args) => contents.update(...args);
const lines = (...all) => all.join('\n') + '\n';
const titles = (markdown) => headings(markdown).map(({ level, title }) => `${level} ${title}`);
const anchors = (markdown) => headings(markdown).map(({ anchor }) => anchor);

describe('headings with hashes', () => {
  it('finds them', () => {
    assert.deepEqual(headings('# One\n\ntext\n### Two, *three* ##\n#no\n'), [
      { level: 1, title: 'One', anchor: 'one', line: 1 },
      { level: 3, title: 'Two, *three*', anchor: 'two-three', line: 4 },
    ]);
  });

  it('skips code', () => {
    assert.deepEqual(titles('```sh\n# no\n```\n# yes\n~~~~\n# no\n~~~\n# no\n~~~~\n'), ['1 yes']);
  });
});

describe('underlined headings', () => {
  it('finds both kinds', () => {
    assert.deepEqual(headings('Top\n===\n\n  Next one\n---\n'), [
      { level: 1, title: 'Top', anchor: 'top', line: 1 },
      { level: 2, title: 'Next one', anchor: 'next-one', line: 4 },
    ]);
    assert.deepEqual(titles('One\n=\nTwo\n-\n'), ['1 One', '2 Two']);
  });

  it('needs a line of text above', () => {
    assert.deepEqual(titles('---\ntext\n\n---\n'), []);
    assert.deepEqual(titles('# One\n---\n'), ['1 One']);
    assert.deepEqual(titles('text\n\n---\n---\n'), []);
    assert.deepEqual(titles('One\n===\n---\n'), ['1 One']);
    assert.deepEqual(titles('- item\n---\n* item\n===\n12. item\n---\n> quote\n---\n    code\n---\n'), []);
  });

  it('skips code', () => {
    assert.deepEqual(titles('```\nno\n---\n```\n---\n'), []);
    assert.deepEqual(titles('text\n```\n---\n```\n'), []);
  });

  it('needs a clean underline', () => {
    assert.deepEqual(titles('One\n== =\n\nTwo\n--- x\n\nThree\n    ---\n'), []);
  });

  it('works with other line ends', () => {
    assert.deepEqual(titles('One\r\n===\r\n## Two\r\n'), ['1 One', '2 Two']);
  });
});

describe('anchors', () => {
  it('are numbered', () => {
    assert.deepEqual(anchors('# A\n# B\n## A\n# A!\n'), ['a', 'b', 'a-1', 'a-2']);
  });

  it('skip what is taken', () => {
    assert.deepEqual(anchors('# A 1\n# A\n# A\n# A\n# A 1\n'), ['a-1', 'a', 'a-2', 'a-3', 'a-1-1']);
  });

  it('count headings that are not listed', () => {
    assert.equal(toc('# A\n## A\n', { min: 2 }), '- [A](#a-1)');
    const text = lines('# A', '<!-- toc -->', '<!-- /toc -->', '## A');
    assert.match(update(text), /^- \[A\]\(#a-1\)$/m);
  });
});

describe('levels', () => {
  it('is a list of all', () => {
    assert.equal(toc('# A\n## B\n### C\n## D\n'), '- [A](#a)\n  - [B](#b)\n    - [C](#c)\n  - [D](#d)');
    assert.equal(toc('text\n'), '');
  });

  it('can be chosen', () => {
    const text = '# A\n## B\n### C\n#### D\n## E\n';
    assert.equal(toc(text, { min: 2 }), '- [B](#b)\n  - [C](#c)\n    - [D](#d)\n- [E](#e)');
    assert.equal(toc(text, { min: 2, max: 3 }), '- [B](#b)\n  - [C](#c)\n- [E](#e)');
  });

  it('are depths, not numbers', () => {
    assert.equal(toc('## A\n#### B\n##### C\n### D\n## E\n'), '- [A](#a)\n  - [B](#b)\n    - [C](#c)\n  - [D](#d)\n- [E](#e)');
  });

  it('may begin with a deep one', () => {
    assert.equal(toc('### A\n## B\n# C\n## D\n'), '- [A](#a)\n- [B](#b)\n- [C](#c)\n  - [D](#d)');
  });
});

describe('update', () => {
  const table = ['<!-- toc -->', '', '- [One](#one)', '  - [Two](#two)', '', '<!-- /toc -->'];

  it('fills in the table', () => {
    assert.equal(
      update(lines('# Title', '', '<!-- toc -->', '<!-- /toc -->', '', '## One', '### Two')),
      lines('# Title', '', ...table, '', '## One', '### Two'),
    );
  });

  it('replaces what is there, and does so once', () => {
    const text = lines('  <!-- toc --> ', 'old', '# Old', '<!-- /toc -->', '# One', '## Two');
    const updated = lines('  <!-- toc --> ', ...table.slice(1), '# One', '## Two');
    assert.equal(update(text), updated);
    assert.equal(update(updated), updated);
  });

  it('passes the options on', () => {
    const text = lines('<!-- toc -->', '<!-- /toc -->', '# One', '## Two');
    assert.equal(update(text, { max: 1 }), lines('<!-- toc -->', '', '- [One](#one)', '', ...text.split('\n').slice(1, -1)));
  });

  it('has one blank line for an empty table', () => {
    assert.equal(update('<!-- toc -->\n\nold\n\n<!-- /toc -->'), '<!-- toc -->\n\n<!-- /toc -->');
  });

  it('keeps line ends', () => {
    assert.equal(
      update('<!-- toc -->\r\n<!-- /toc -->\r\n# One\r\nmixed\n\n## Two\r\n'),
      `${table.join('\r\n')}\r\n# One\r\nmixed\n\n## Two\r\n`,
    );
  });

  it('takes the first pair outside code', () => {
    const code = ['```', '<!-- toc -->', '<!-- /toc -->', '```', 'text <!-- toc -->'];
    assert.equal(
      update(lines(...code, '<!-- toc -->', '```', '<!-- /toc -->', '```', '<!-- /toc -->', '# One', '## Two', '<!-- toc -->')),
      lines(...code, ...table, '# One', '## Two', '<!-- toc -->'),
    );
  });

  it('leaves a text without markers alone', () => {
    for (const text of ['# One\n', '', '<!-- /toc -->\r\n# One']) {
      assert.equal(update(text), text);
    }
  });

  it('needs a closing marker', () => {
    assert.throws(() => update('# One\n\n<!-- toc -->\n## Two\n'), { message: 'line 3: <!-- toc --> is not closed' });
    assert.throws(() => update('<!-- /toc -->\n<!-- toc -->\n'), { message: 'line 2: <!-- toc --> is not closed' });
  });
});

describe('command line', () => {
  const program = fileURLToPath(new URL('../bin/toc.js', import.meta.url));
  const text = lines('<!-- toc -->', '<!-- /toc -->', '# One', '## Two');

  function run(...options) {
    const place = mkdtempSync(join(tmpdir(), 'toc-'));
    const file = join(place, 'text.md');
    writeFileSync(file, text);
    const { status, stdout } = spawnSync(process.execPath, [program, ...options, file], { encoding: 'utf8' });
    const content = readFileSync(file, 'utf8');
    rmSync(place, { recursive: true });
    return { status, stdout, content };
  }

  it('prints', () => {
    assert.deepEqual(run(), { status: 0, stdout: '- [One](#one)\n  - [Two](#two)\n', content: text });
  });

  it('chooses levels', () => {
    assert.equal(run('--min', '2').stdout, '- [Two](#two)\n');
  });

  it('writes', () => {
    const { status, stdout, content } = run('--write', '--max', '1');
    assert.deepEqual({ status, stdout, content }, { status: 0, stdout: '', content: update(text, { max: 1 }) });
  });
});
