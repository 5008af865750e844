//! Runs `deepseek_lanes_fuzz::sse::check`, which has the properties, under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| deepseek_lanes_fuzz::sse::check(input));
