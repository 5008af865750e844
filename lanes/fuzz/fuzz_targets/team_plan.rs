//! Feeds `deepseek_lanes_fuzz::team_plan::check`, where the promises are, from libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| deepseek_lanes_fuzz::team_plan::check(input));
