// A checkpoint on the CPU with its pools, and what runs steps on it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "backends/cpu/cpu_backend.h"
#include "engine/model_runner.h"
#include "engine/step_limits.h"
#include "model/model.h"

namespace deltaserve {

struct LoadedModel {
  // `with_vision`: has room for pictures.
  LoadedModel(const Checkpoint& checkpoint, const CpuOptions& cpu, const EngineOptions& options,
              int64_t max_model_len, int64_t num_blocks, int64_t num_slots,
              bool with_vision = false)
      : backend(make_cpu_backend(cpu).value()),
        model(load_model(checkpoint, *backend).value()),
        vocab_size(model->config().vocab_size) {
    const VisionTower* const tower = with_vision ? model->vision() : nullptr;
    EXPECT_TRUE(model->allocate(step_limits(options, max_model_len, tower), num_blocks, num_slots));
    runner = make_model_runner(*model, vocab_size);
  }

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  int32_t vocab_size;
  std::unique_ptr<ModelRunner> runner;
};

}  // namespace deltaserve
