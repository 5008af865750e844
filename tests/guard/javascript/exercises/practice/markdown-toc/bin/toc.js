#!/usr/bin/env node
import { readFileSync } from 'node:fs';

import { toc } from '../src/toc.js';

function main(args) {
  if (args.length !== 1) {
    console.error('usage: toc FILE');
    return 2;
  }
  console.log(toc(readFileSync(args[0], 'utf8')));
  return 0;
}

process.exitCode = main(process.argv.slice(2));
