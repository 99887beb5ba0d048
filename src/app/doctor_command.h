// `deltaserve doctor`: what this machine is, what a model would need on it, and which kernel serves
// each op.
#pragma once

#include <optional>

#include "app/cli_options.h"

namespace deltaserve {

struct DoctorOptions {
  ModelOptions model;  // directory may be empty
  EngineOptions engine;
};

int run_doctor(const DoctorOptions& options);

}  // namespace deltaserve
