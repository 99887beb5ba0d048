// All of the API without sockets: request bodies in, generation jobs or response bodies out. The
// server exists before the model is loaded; until set_ready every call answers kUnavailable.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api/generation_job.h"
#include "api/serving_context.h"
#include "json/json.h"

namespace deltaserve {

class ApiService {
 public:
  explicit ApiService(std::string version) : version_(std::move(version)) {}

  // Loading has finished: from here on requests are served.
  void set_ready(std::shared_ptr<const ServingContext> context);

  // Null until then.
  std::shared_ptr<const ServingContext> context() const;

  // The model is loaded and its engine runs.
  Result<void> health() const;

  // A job keeps the context it was made with; the caller submits its requests to that engine.
  struct Prepared {
    std::shared_ptr<const ServingContext> context;
    GenerationJob job;
  };
  Result<Prepared> chat(std::string_view body) const;
  Result<Prepared> completion(std::string_view body) const;
  Result<Prepared> messages(std::string_view body) const;  // Anthropic's protocol
  Result<Prepared> responses(std::string_view body) const;

  Result<std::string> tokenize(std::string_view body) const;
  Result<std::string> detokenize(std::string_view body) const;
  Result<std::string> count_message_tokens(std::string_view body) const;
  Result<std::string> models() const;
  Result<std::string> model(std::string_view id) const;
  std::string version() const;  // {"version":"..."}

 private:
  Result<std::shared_ptr<const ServingContext>> ready_context() const;
  template <typename Parse>
  Result<Prepared> prepare(std::string_view body, Parse parse) const;
  template <typename Answer>
  Result<std::string> answer(std::string_view body, Answer make) const;

  std::string version_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ServingContext> context_;
};

// A request body as an object. Errors: kInvalidArgument for anything else.
Result<json::Object> parse_body(std::string_view body);

}  // namespace deltaserve
