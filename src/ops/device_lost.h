// What a backend throws when its device can do nothing more in this process: a kernel that faulted
// takes the whole context with it, and every later call would fail the same way. Other exceptions
// end one step; this one ends the engine, so that /health tells a supervisor to start a new
// process.
#pragma once

#include <stdexcept>

namespace deltaserve {

struct DeviceLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace deltaserve
