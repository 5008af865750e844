//! The whole program, tested from outside: a list of modules in reading order.
