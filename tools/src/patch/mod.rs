//! Model-written diffs: parsed, checked, located and applied to text, without touching a disk.
