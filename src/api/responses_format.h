// Writes an answer of /v1/responses. The model's output becomes items (a thought, text, function
// calls, in the order it wrote them), and each item a run of events from output_item.added to
// output_item.done. The whole answer is what the events of a stream add up to, made by the same
// code.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/response_format.h"
#include "api/responses_items.h"
#include "api/responses_object.h"
#include "api/responses_settings.h"

namespace deltaserve {

class ResponsesFormat : public ResponseFormat {
 public:
  // Tokenizer and options must outlive this.
  ResponsesFormat(const Tokenizer& tokenizer, const ResponseOptions& options,
                  responses_api::Settings settings)
      : tokenizer_(&tokenizer), options_(&options), settings_(std::move(settings)) {}

  void start_choice(int32_t index, const PromptInfo& prompt, const Usage& usage,
                    std::string& out) override;
  void append_delta(int32_t index, const ChoiceDelta& delta, const Usage& usage,
                    std::string& out) override;
  void end_choice(int32_t index, const ChoiceEnd& end, const ChoiceDelta& rest, const Usage& usage,
                  std::string& out) override;
  void end_stream(const Usage& usage, std::string& out) override;
  // An `error` event, then response.failed.
  void append_error(const Error& error, std::string& out) override;
  std::string body(const std::vector<CollectedChoice>& choices, const Usage& usage) override;
  std::string error_body(const Error& error) const override;

 private:
  void start(std::string& out);
  void append_event(const OutputEvent& event, std::string& out);
  void append_text(responses_api::ItemKind kind, const std::string& text, std::string& out);
  void append_arguments(const std::string& text, std::string& out);
  void open_item(responses_api::OutputItem item, std::string& out);
  void close_item(responses_api::ItemStatus status, std::string& out);
  void append_text_end(const responses_api::OutputItem& item, std::string& out);
  // Moves the log probabilities of the text that has been written to the open message; returns them
  // as JSON objects separated by commas.
  std::string take_logprobs();

  responses_api::ResponseSnapshot final_snapshot(const Usage& usage) const;
  void append_snapshot(std::string_view type, const responses_api::ResponseSnapshot& snapshot,
                       std::string& out);
  // Opens an event up to and with its sequence number; the caller adds keys and ends it.
  void begin_event(std::string_view type, std::string& out);
  // An event about the last item, up to and with the place that it is about.
  void begin_item_event(std::string_view type, std::string& out);
  void begin_part_event(std::string_view type, std::string& out);

  const Tokenizer* tokenizer_;
  const ResponseOptions* options_;
  responses_api::Settings settings_;
  std::vector<responses_api::OutputItem> items_;
  std::deque<LogprobEntry> logprobs_;  // of content that has not been written yet
  size_t content_bytes_ = 0;           // written
  bool item_open_ = false;             // the last item
  bool started_ = false;
  ChoiceFinish finish_ = ChoiceFinish::kStop;
  int64_t sequence_number_ = 0;
};

}  // namespace deltaserve
