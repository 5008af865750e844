export { Hub } from './hub.js';
export { record } from './record.js';
