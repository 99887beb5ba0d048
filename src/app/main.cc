// Entry of the `deltaserve` program.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "app/command_line.h"

int main(int argc, char** argv) {
  try {
    return deltaserve::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
