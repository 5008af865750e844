'use strict';

const { explain } = require('./explain');
const { fromEnvironment } = require('./environment');
const { Settings } = require('./settings');

module.exports = { Settings, explain, fromEnvironment };
