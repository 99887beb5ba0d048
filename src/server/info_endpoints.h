// What is being served, under SGLang's names: benchmark clients look there to find out whether they
// talk to an engine or to a gateway.
#pragma once

#include <string>

#include "api/api_service.h"

namespace deltaserve {

// {"model_path","tokenizer_path","is_generation","max_model_len"}; paths are served names, since a
// client has no business with the server's directories.
Result<std::string> model_info_body(const ApiService& service);

// The same with version and the engine's gauges.
Result<std::string> server_info_body(const ApiService& service);

}  // namespace deltaserve
