'use strict';

const { Router } = require('./router');
const { dispatch } = require('./dispatch');

module.exports = { Router, dispatch };
