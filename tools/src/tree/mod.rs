//! A directory of the user's files: safe paths into it, reads, and the one way to change it.
