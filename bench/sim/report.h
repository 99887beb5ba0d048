// The figures of a simulated replay as text. The same run gives the same text.
#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.h"
#include "replayer.h"
#include "trace.h"

namespace deltaserve {

// A prompt that has at least so many tokens to compute is a long prefill: gaps between tokens of
// other requests meanwhile are shown by themselves.
inline constexpr int64_t kLongPrefill = 32'768;

std::string report(const Trace& trace, const Replayer& replayer, const EngineStats& stats);

}  // namespace deltaserve
