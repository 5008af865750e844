//! Feeds `deepseek_fuzz::answer::check`, where the promises are, from libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| deepseek_fuzz::answer::check(input));
