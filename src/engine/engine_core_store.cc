// The core and the prefixes on disk.
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "engine/engine_core.h"

namespace deltaserve {

void EngineCore::open_store(const PrefixStoreOptions& options) {
  DS_CHECK(cache_.index() != nullptr && runner_->transfer() != nullptr && requests_.empty());
  store_.emplace(options, *runner_->transfer());
  const int64_t num_loaded = store_->load(*cache_.index(), blocks_, snapshots_);
  spdlog::info("prefix cache: {} prefixes read from {}", num_loaded, options.directory.string());
}

void EngineCore::save_prefixes() {
  if (!store_) return;
  const int64_t num_saved = store_->save(cache_.names().newest_first(), cache_.host());
  spdlog::info("prefix cache: {} prefixes written", num_saved);
}

}  // namespace deltaserve
