// What the values of flags may be. CLI11's own checks take NaN for a number of any range, wrap
// negative sizes around and print their bounds with 300 digits.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace deltaserve {

// A number from `min` to `max`; for Option::check.
CLI::Validator number_in(double min, double max);

// A whole number of at least `min` that fits 64 bits; for Option::check.
CLI::Validator whole_number(int64_t min);

// Bytes, at least `min`, with a unit or without: 512, 1.5GiB, 64mb (units are powers of 1024); for
// Option::transform.
CLI::Validator byte_size(int64_t min);

}  // namespace deltaserve
