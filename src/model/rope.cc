// Frequencies are computed the way PyTorch does (float32 power, then a float32 reciprocal), because
// at position 200,000 a frequency's last bit is an angle of 0.01. YaRN: Peng et al. 2023,
// arXiv:2309.00071, with the conventions of Hugging Face's rope_type "yarn".
#include "model/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

namespace deltaserve {

namespace {

constexpr std::array<int32_t, 3> kDefaultSection = {11, 11, 10};

// 1 / theta^(2j / rotary_dim); `factor` divides the frequency (YaRN's interpolation).
float frequency(double theta, int32_t index, int32_t rotary_dim, float factor) {
  const float exponent = static_cast<float>(2 * index) / static_cast<float>(rotary_dim);
  const auto power = static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
  return 1.0F / (factor * power);
}

// Axis of frequency j: T, except H at j = 1, 4, .. below 3 * section[1] and W at j = 2, 5, ..
// below 3 * section[2].
std::vector<uint8_t> interleaved_axes(const std::array<int32_t, 3>& section, int32_t half) {
  std::vector<uint8_t> axes(static_cast<size_t>(half), 0);
  for (uint8_t axis = 1; axis <= 2; ++axis) {
    for (int32_t j = axis; j < std::min(half, 3 * section[axis]); j += 3) {
      axes[static_cast<size_t>(j)] = axis;
    }
  }
  return axes;
}

std::vector<uint8_t> read_axes(ConfigReader& reader, int32_t half, bool is_multimodal) {
  if (!reader.boolean("mrope_interleaved", true)) {
    reader.refuse("mrope_interleaved", "false is not supported: this family interleaves");
  }
  const json::Array* list = reader.array("mrope_section");
  if (list == nullptr) {
    const std::array<int32_t, 3> none = {half, 0, 0};
    return interleaved_axes(is_multimodal ? kDefaultSection : none, half);
  }
  std::array<int32_t, 3> section = {0, 0, 0};
  int64_t sum = 0;
  bool valid = list->size() == section.size();
  for (size_t i = 0; valid && i < section.size(); ++i) {
    const int64_t* size = (*list)[i].if_int64();
    valid = size != nullptr && *size >= 0 && *size <= half;
    section[i] = valid ? static_cast<int32_t>(*size) : 0;
    sum += section[i];
  }
  if (!valid || sum != half) {
    reader.refuse(
        "mrope_section",
        fmt::format("must be three sizes that add up to {}, half the rotary dimensions", half));
  }
  return interleaved_axes(section, half);
}

double yarn_scale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double yarn_attention_factor(ConfigReader& reader, double factor) {
  // A zero would silence attention; 16 is far above what 0.1 ln(factor) + 1 can reach.
  const std::optional<double> given = reader.optional_number("attention_factor", 1e-3, 16.0);
  if (given) {
    return *given;
  }
  const std::optional<double> mscale = reader.optional_number("mscale", 0.0, 16.0);
  const std::optional<double> all_dim = reader.optional_number("mscale_all_dim", 0.0, 16.0);
  if (mscale.value_or(0.0) != 0.0 && all_dim.value_or(0.0) != 0.0) {
    return yarn_scale(factor, *mscale) / yarn_scale(factor, *all_dim);
  }
  return yarn_scale(factor, 1.0);
}

// Low frequencies are divided by the factor, high ones kept, with a linear ramp between the
// dimensions that turn beta_fast and beta_slow times over the original context.
void apply_yarn(ConfigReader& reader, ParsedRope& parsed) {
  RopeConfig& rope = parsed.rope;
  const int64_t original = reader.integer("original_max_position_embeddings", 1, int64_t{1} << 31,
                                          parsed.max_position_embeddings);
  // 4096 times any released context is beyond what 31-bit positions can hold.
  const double factor = reader.number("factor", 1.0, 4096.0);
  const double beta_fast = reader.number("beta_fast", 1e-3, 1e6, 32.0);
  const double beta_slow = reader.number("beta_slow", 1e-3, 1e6, 1.0);
  const bool truncate = reader.boolean("truncate", true);
  const double attention_factor = yarn_attention_factor(reader, factor);
  if (reader.failed()) {
    return;
  }
  const auto dim_of = [&](double rotations) {
    return rope.rotary_dim *
           std::log(static_cast<double>(original) / (rotations * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(rope.theta));
  };
  double low = dim_of(beta_fast);
  double high = dim_of(beta_slow);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.rotary_dim - 1));
  if (low == high) {
    high += 0.001;  // the reference's way out of an empty ramp
  }
  for (size_t j = 0; j < rope.inv_freq.size(); ++j) {
    const auto ramp =
        static_cast<float>(std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0));
    const float slowed =
        frequency(rope.theta, static_cast<int32_t>(j), rope.rotary_dim, static_cast<float>(factor));
    rope.inv_freq[j] = slowed * ramp + rope.inv_freq[j] * (1.0F - ramp);
  }
  rope.attention_factor = static_cast<float>(attention_factor);
  const double stretched = static_cast<double>(original) * factor;
  parsed.max_position_embeddings = std::max(
      parsed.max_position_embeddings, static_cast<int64_t>(std::min(stretched, 2147483647.0)));
}

}  // namespace

ParsedRope parse_rope(ConfigReader& text, int32_t head_dim, int64_t max_position_embeddings,
                      bool is_multimodal) {
  const json::Object* parameters = text.object("rope_parameters");
  const json::Object* scaling = text.object("rope_scaling");
  if (parameters != nullptr && scaling != nullptr && *parameters != *scaling) {
    text.refuse("rope_scaling", "contradicts rope_parameters: keep one of the two");
  }
  const bool is_scaling = parameters == nullptr && scaling != nullptr;
  const json::Object empty;
  ConfigReader reader(parameters != nullptr ? *parameters
                      : is_scaling          ? *scaling
                                            : empty,
                      is_scaling ? "rope_scaling" : "rope_parameters");

  ParsedRope parsed;
  parsed.max_position_embeddings = max_position_embeddings;
  RopeConfig& rope = parsed.rope;
  // theta > 1, or frequencies would not fall and YaRN would divide by ln(1).
  constexpr double kMinTheta = 1.0001;
  constexpr double kMaxTheta = 1e15;
  rope.theta = reader.has("rope_theta") ? reader.number("rope_theta", kMinTheta, kMaxTheta)
                                        : text.number("rope_theta", kMinTheta, kMaxTheta);
  const double fraction = reader.has("partial_rotary_factor")
                              ? reader.number("partial_rotary_factor", 0.0, 1.0)
                              : text.number("partial_rotary_factor", 0.0, 1.0, 0.25);
  rope.rotary_dim = static_cast<int32_t>(head_dim * fraction);
  if (rope.rotary_dim < 2 || rope.rotary_dim % 2 != 0) {
    text.refuse("partial_rotary_factor",
                fmt::format("rotates {} of {} dimensions: not a positive even number",
                            rope.rotary_dim, head_dim));
    return parsed;
  }
  const int32_t half = rope.rotary_dim / 2;
  rope.mrope_axis = read_axes(reader, half, is_multimodal);
  for (int32_t j = 0; j < half; ++j) {
    rope.inv_freq.push_back(frequency(rope.theta, j, rope.rotary_dim, 1.0F));
  }

  const std::string type = reader.string("rope_type", reader.string("type", "default"));
  if (type == "yarn") {
    apply_yarn(reader, parsed);
  } else if (type != "default") {
    reader.refuse("rope_type", fmt::format("\"{}\" is not supported (default and yarn are)", type));
  }
  text.adopt(reader);
  return parsed;
}

}  // namespace deltaserve
