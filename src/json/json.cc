// Parsing. Boost.JSON's incremental parser checks grammar, UTF-8 and depth; the handler here builds
// the value and converts fractions itself with std::from_chars, because the converter inside
// Boost 1.81 can be off by one unit in the last place and Python prints that digit.
#include "json/json.h"

#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace deltaserve::json {
namespace {

namespace bj = boost::json;

class ValueHandler {
 public:
  static constexpr std::size_t max_object_size = Object::max_size();      // NOLINT: names fixed by
  static constexpr std::size_t max_array_size = Array::max_size();        // NOLINT: basic_parser
  static constexpr std::size_t max_key_size = bj::string::max_size();     // NOLINT
  static constexpr std::size_t max_string_size = bj::string::max_size();  // NOLINT

  Value release() { return stack_.release(); }
  bool number_out_of_range() const { return number_out_of_range_; }
  void begin() { stack_.reset(); }

  bool on_document_begin(bj::error_code& /*ec*/) { return true; }
  bool on_document_end(bj::error_code& /*ec*/) { return true; }
  bool on_object_begin(bj::error_code& /*ec*/) { return true; }
  bool on_array_begin(bj::error_code& /*ec*/) { return true; }
  bool on_comment_part(bj::string_view /*s*/, bj::error_code& /*ec*/) { return true; }
  bool on_comment(bj::string_view /*s*/, bj::error_code& /*ec*/) { return true; }
  bool on_number_part(bj::string_view /*s*/, bj::error_code& /*ec*/) { return true; }

  bool on_object_end(std::size_t n, bj::error_code& /*ec*/) {
    stack_.push_object(n);
    return true;
  }
  bool on_array_end(std::size_t n, bj::error_code& /*ec*/) {
    stack_.push_array(n);
    return true;
  }
  bool on_key_part(bj::string_view s, std::size_t /*n*/, bj::error_code& /*ec*/) {
    stack_.push_chars(s);
    return true;
  }
  bool on_key(bj::string_view s, std::size_t /*n*/, bj::error_code& /*ec*/) {
    stack_.push_key(s);
    return true;
  }
  bool on_string_part(bj::string_view s, std::size_t /*n*/, bj::error_code& /*ec*/) {
    stack_.push_chars(s);
    return true;
  }
  bool on_string(bj::string_view s, std::size_t /*n*/, bj::error_code& /*ec*/) {
    stack_.push_string(s);
    return true;
  }
  bool on_int64(std::int64_t i, bj::string_view /*s*/, bj::error_code& /*ec*/) {
    stack_.push_int64(i);
    return true;
  }
  bool on_uint64(std::uint64_t u, bj::string_view /*s*/, bj::error_code& /*ec*/) {
    stack_.push_uint64(u);
    return true;
  }
  bool on_bool(bool b, bj::error_code& /*ec*/) {
    stack_.push_bool(b);
    return true;
  }
  bool on_null(bj::error_code& /*ec*/) {
    stack_.push_null();
    return true;
  }

  // `s` is the whole number: the document is parsed from one buffer.
  bool on_double(double estimate, bj::string_view s, bj::error_code& ec) {
    double number = 0.0;
    const auto [end, status] = std::from_chars(s.data(), s.data() + s.size(), number);
    if (status == std::errc::result_out_of_range) {
      if (std::fabs(estimate) > 1.0) {
        number_out_of_range_ = true;
        ec = bj::error::exponent_overflow;
        return false;
      }
      number = s.front() == '-' ? -0.0 : 0.0;
    }
    stack_.push_double(number);
    return true;
  }

 private:
  bj::value_stack stack_;
  bool number_out_of_range_ = false;
};

}  // namespace

Result<Value> parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return fail(ErrorCode::kPayloadTooLarge,
                fmt::format("the JSON document has {} bytes, at most {} are accepted", text.size(),
                            limits.max_bytes));
  }
  bj::parse_options options;
  options.max_depth = limits.max_depth;
  bj::basic_parser<ValueHandler> parser(options);
  parser.handler().begin();
  bj::error_code error;
  const size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used < text.size()) {
    error = bj::error::extra_data;
  }
  if (error) {
    if (error == bj::error::too_deep) {
      return invalid(fmt::format("the JSON document nests deeper than {} levels (at byte {})",
                                 limits.max_depth, used));
    }
    if (parser.handler().number_out_of_range() || error == bj::error::exponent_overflow) {
      return invalid(fmt::format("invalid JSON at byte {}: number out of range", used));
    }
    return invalid(fmt::format("invalid JSON at byte {}: {}", used, error.message()));
  }
  return parser.handler().release();
}

}  // namespace deltaserve::json
