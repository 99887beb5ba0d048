// `deltaserve parse`: what the output parser makes of a model's raw text, for people who debug
// parsers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace deltaserve {

struct ParseCommandOptions {
  std::filesystem::path directory;
  std::optional<std::filesystem::path> tools;  // JSON: a tools array, or a request with one
  std::string thinking;                        // "on", "off", "" for the template's default
  std::string finish = "stop";                 // "stop", "length"
  bool pieces = false;                         // the input is a JSON array of strings
  bool stream = false;                         // print deltas instead of the message
};

// Reads the text from standard input.
int run_parse(const ParseCommandOptions& options);

}  // namespace deltaserve
