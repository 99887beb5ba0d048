// The JSON files of a checkpoint directory, for those who need none of its weights.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

// Null if the file does not exist. Errors name it.
Result<json::Value> read_checkpoint_json(const std::filesystem::path& directory,
                                         std::string_view file_name);

}  // namespace deltaserve
