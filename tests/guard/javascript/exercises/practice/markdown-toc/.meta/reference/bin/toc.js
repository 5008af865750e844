#!/usr/bin/env node
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { toc, update } from '../src/toc.js';

const USAGE = 'usage: toc [--write] [--min N] [--max N] FILE';
const OPTIONS = {
  write: { type: 'boolean', default: false },
  min: { type: 'string', default: '1' },
  max: { type: 'string', default: '6' },
};

function main(args) {
  let parsed;
  try {
    parsed = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch {
    parsed = null;
  }
  if (parsed === null || parsed.positionals.length !== 1 || !isLevel(parsed.values.min) || !isLevel(parsed.values.max)) {
    console.error(USAGE);
    return 2;
  }
  const [file] = parsed.positionals;
  const levels = { min: Number(parsed.values.min), max: Number(parsed.values.max) };
  const markdown = readFileSync(file, 'utf8');
  if (!parsed.values.write) {
    console.log(toc(markdown, levels));
    return 0;
  }
  try {
    writeFileSync(file, update(markdown, levels));
  } catch (error) {
    console.error(`${file}: ${error.message}`);
    return 1;
  }
  return 0;
}

function isLevel(text) {
  return /^[1-6]$/.test(text);
}

process.exitCode = main(process.argv.slice(2));
