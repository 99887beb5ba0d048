// The table of endpoints.
#pragma once

#include "api/api_service.h"
#include "server/metrics.h"
#include "server/router.h"

namespace deltaserve {

// Both must outlive the router.
void add_routes(const ApiService& service, const Metrics& metrics, Router& router);

}  // namespace deltaserve
