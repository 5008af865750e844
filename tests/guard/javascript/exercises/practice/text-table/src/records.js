'use strict';

const { render } = require('./table');

/**
 * Renders objects as a table with a header. The columns are the keys, in the order in which they are first met.
 */
function renderRecords(records, options = {}) {
  const keys = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = records.map((record) => keys.map((key) => record[key]));
  return render([keys, ...rows], { ...options, header: true });
}

module.exports = { renderRecords };
