// The fixture of conformance tests: a case's backend and the reference with the same X.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "conformance.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {

class BackendPair : public testing::TestWithParam<BackendCase> {
 protected:
  const DType x_ = GetParam().x_dtype;
  const double tolerance_ = x_tolerance(x_);
  const std::unique_ptr<Backend> backend_ = make_case_backend(GetParam());
  const std::unique_ptr<Backend> reference_ = make_reference_backend(x_);
};

}  // namespace deltaserve
