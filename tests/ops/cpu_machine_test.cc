// What the CPU backend stands on: limits of the machine, memory, threads, vector functions; and the
// options it refuses.
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/matrix_ops.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/threads.h"
#include "cpu_test_util.h"

namespace deltaserve {
namespace {

TEST(CpuInfo, NamesOfInstructionSetsRoundTrip) {
  for (const CpuIsa isa : kCpuIsas) {
    EXPECT_EQ(parse_cpu_isa(cpu_isa_name(isa)).value(), isa);
  }
  EXPECT_FALSE(parse_cpu_isa("sse2").has_value());
  EXPECT_TRUE(cpu_supports(CpuIsa::kPortable));
  EXPECT_TRUE(cpu_supports(detect_cpu_isa()));
  EXPECT_GE(usable_cpu_count(), 1);
}

TEST(CpuBackendOptions, RefusesWhatItCannotServe) {
  EXPECT_FALSE(make_cpu_backend({.compute_dtype = DType::kF16}).has_value());
  EXPECT_FALSE(make_cpu_backend({.threads = -1}).has_value());
  for (const CpuIsa isa : kCpuIsas) {
    EXPECT_EQ(make_cpu_backend({.threads = 1, .isa = isa}).has_value(), cpu_supports(isa));
  }
}

TEST(CpuBackendOptions, NamesAKernelForEveryOp) {
  const auto backend = make_cpu_backend({.threads = 1}).value();
  EXPECT_EQ(backend->kernels().size(), size_t{19});  // 18 ops and quantised weights
  for (const KernelInfo& info : backend->kernels()) {
    EXPECT_FALSE(info.op.empty());
    EXPECT_FALSE(info.kernel.empty()) << info.op;
  }
}

TEST(HugeBuffer, IsZeroedAndAligned) {
  for (const size_t bytes : {size_t{1}, size_t{5000}, size_t{2} << 20, (size_t{4} << 20) + 3}) {
    const HugeBuffer buffer = HugeBuffer::allocate(bytes).value();
    ASSERT_EQ(buffer.size(), bytes);
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(buffer.data()) % (bytes >= size_t{2} << 20 ? 1U << 21 : 64U),
        0U);
    for (size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(buffer.data()[i], std::byte{0});
    }
    std::memset(buffer.data(), 1, bytes);
  }
  EXPECT_FALSE(HugeBuffer::allocate(size_t{1} << 60).has_value());
}

TEST(Threads, EveryIndexOnce) {
  for (const int32_t threads : {1, 2, 5}) {
    for (const int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      parallel_for(threads, count, 2, [&](int64_t begin, int64_t end, int32_t thread) {
        EXPECT_LT(thread, threads);
        for (int64_t i = begin; i < end; ++i) {
          ++seen[static_cast<size_t>(i)];
        }
      });
      parallel_dynamic(threads, count, [&](int64_t i, int32_t) { ++seen[static_cast<size_t>(i)]; });
      for (const auto& times : seen) {
        ASSERT_EQ(times, 2);
      }
    }
  }
}

TEST(Threads, LittleWorkEndsNone) {
  constexpr int32_t kThreads = 4;
  const auto team = [] {
    std::vector<pid_t> ids(kThreads);
    parallel_region(kThreads,
                    [&](const Team& t) { ids[static_cast<size_t>(t.thread)] = gettid(); });
    return ids;
  };
  const std::vector<pid_t> before = team();
  parallel_for(kThreads, 2, 1, [](int64_t, int64_t, int32_t) {});
  parallel_dynamic(kThreads, 3, [](int64_t, int32_t) {});
  EXPECT_EQ(team(), before);
}

TEST(Threads, AnExceptionReachesTheCaller) {
  for (const int32_t threads : {1, 3}) {
    EXPECT_THROW(parallel_dynamic(threads, 10,
                                  [](int64_t i, int32_t) {
                                    if (i == 7) {
                                      throw std::runtime_error("seven");
                                    }
                                  }),
                 std::runtime_error);
  }
}

#if defined(__x86_64__)
TEST(Threads, FlushDenormalsInsideOnly) {
  volatile float small = std::numeric_limits<float>::min();
  std::atomic<int> not_flushed = 0;
  parallel_region(3, [&](const Team&) {
    const float half = small / 2.0F;
    if (half != 0.0F) {
      ++not_flushed;
    }
  });
  EXPECT_EQ(not_flushed, 0);
  EXPECT_GT(small / 2.0F, 0.0F) << "the caller's own mode must come back";
}
#endif

class CpuVectors : public testing::TestWithParam<CpuIsa> {};

TEST_P(CpuVectors, ExpIsAccurateAndKeepsSpecialValues) {
  const CpuKernels& kernels = cpu_kernels(GetParam());
  std::vector<float> x;
  for (float value = -87.0F; value < 88.0F; value += 0.0371F) {
    x.push_back(value);
  }
  auto y = x;
  kernels.exp(y.data(), static_cast<int64_t>(y.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    ASSERT_NEAR(y[i], exact, 3e-7 * exact) << x[i];
  }
  const float infinity = std::numeric_limits<float>::infinity();
  float special[] = {0.0F, -infinity, -1e30F, -100.0F, infinity, 100.0F, std::nanf("")};
  kernels.exp(special, 7);
  EXPECT_EQ(special[0], 1.0F);
  EXPECT_EQ(special[1], 0.0F);
  EXPECT_EQ(special[2], 0.0F);
  EXPECT_EQ(special[3], 0.0F);
  EXPECT_EQ(special[4], infinity);
  EXPECT_EQ(special[5], infinity);
  EXPECT_TRUE(std::isnan(special[6]));
}

TEST_P(CpuVectors, NarrowRoundsToNearestEven) {
  const CpuKernels& kernels = cpu_kernels(GetParam());
  std::vector<float> x;
  for (const uint32_t low : {0x0000U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
    for (const uint32_t high : {0x3f80U, 0x3f81U, 0xc2ffU, 0x7f7fU, 0x0080U, 0x7f80U, 0xff80U}) {
      x.push_back(std::bit_cast<float>((high << 16) | low));  // with 0x7f80 and low bits: NaN
    }
  }
  std::vector<uint16_t> y(x.size());
  kernels.narrow(x.data(), static_cast<int64_t>(x.size()), y.data());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i], to_bfloat16(x[i]).bits) << x[i];
  }
}

TEST_P(CpuVectors, SumsOfAnyLength) {
  const CpuKernels& kernels = cpu_kernels(GetParam());
  for (const int64_t count : {1, 15, 16, 17, 128, 1000}) {
    const auto a = uniform_values(static_cast<size_t>(count), 1);
    const auto b = uniform_values(static_cast<size_t>(count), 2);
    const double exact = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    EXPECT_NEAR(kernels.dot(a.data(), b.data(), count), exact, 1e-4);
    auto sum = b;
    kernels.axpy(sum.data(), a.data(), count, 0.5F);
    for (size_t i = 0; i < sum.size(); ++i) {
      ASSERT_FLOAT_EQ(sum[i], b[i] + 0.5F * a[i]);
    }
  }
}

TEST(CpuShapes, HeadSizesWithoutAKernelAreRefused) {
  const auto backend = make_cpu_backend({}).value();
  EXPECT_TRUE(backend->check_shape({.num_kv_heads = 2, .head_dim = 256}).has_value());
  const auto refused = backend->check_shape({.num_kv_heads = 2, .head_dim = 40});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().param, "head_dim");
}

TEST_P(CpuVectors, EmbedConvertsRowsOfAnyDtype) {
  const int64_t V = 9;
  const int64_t H = 21;
  const auto values = uniform_values(static_cast<size_t>(V * H), 3);
  const std::vector<int32_t> ids = {8, 0, 3, 3};
  for (const DType table_dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const OwnedTensor table(table_dtype, {V, H}, values);
    const auto weight = make_cpu_embedding(table.view).value();
    for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
      CpuContext context(x_dtype, GetParam(), 2);
      std::vector<float> rows(ids.size() * static_cast<size_t>(H));
      cpu_embed(context, {.T = 4, .ids = ids.data(), .table = weight.get(), .out = rows.data()});
      for (size_t t = 0; t < ids.size(); ++t) {
        for (int64_t i = 0; i < H; ++i) {
          ASSERT_EQ(rows[t * static_cast<size_t>(H) + static_cast<size_t>(i)],
                    values[static_cast<size_t>(ids[t] * H + i)]);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuVectors, testing::ValuesIn(machine_isas()),
                         [](const auto& isa) { return std::string(cpu_isa_name(isa.param)); });

}  // namespace
}  // namespace deltaserve
