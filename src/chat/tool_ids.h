// Ids of tool calls: random, since a client's history holds those of many answers together.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace deltaserve {

class ToolIdGenerator {
 public:
  ToolIdGenerator();  // seeded by the system
  explicit ToolIdGenerator(uint64_t seed) : random_(seed) {}

  std::string next();  // "call_" and 24 hexadecimal digits, as long as OpenAI's own

 private:
  std::mt19937_64 random_;
};

}  // namespace deltaserve
