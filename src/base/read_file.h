// Small files (configuration, templates, texts) read whole, with errors that name the file: what is
// missing, a directory, not readable or too large.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace deltaserve {

// The bytes of the file at `path`. Errors: kNotFound if there is none; kInvalidArgument if it
// cannot be read or has more than `max_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, size_t max_bytes);

// Whether there is something at `path`, were it a link that leads nowhere or a file that may not be
// read: such a file is to be reported, not done without.
bool has_file(const std::filesystem::path& path);

}  // namespace deltaserve
