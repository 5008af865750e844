//! Runs `deepseek_fuzz::path::check`, which states the properties, from libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| deepseek_fuzz::path::check(input));
