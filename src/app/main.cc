// Entry of the `deltaserve` program.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "app/cli_options.h"
#include "app/command_line.h"

namespace deltaserve {
namespace {

// A full disk, say, shows only when what was printed is written out.
int after_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  const std::string why = std::strerror(errno);
  return report_failure(invalid("standard output cannot be written: " + why).error());
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  try {
    return deltaserve::after_output(deltaserve::run_command_line(argc, argv));
  } catch (const std::exception& error) {
    return deltaserve::report_failure(deltaserve::invalid(error.what()).error());
  }
}
