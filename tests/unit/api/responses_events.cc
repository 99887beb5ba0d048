// See responses_events.h.
#include "responses_events.h"

#include <gtest/gtest.h>

#include <iterator>

namespace deltaserve {
namespace {

json::Object parse_event(std::string_view event, size_t number) {
  const size_t line = event.find('\n');
  EXPECT_NE(line, std::string_view::npos) << event;
  const std::string_view name = event.substr(0, line);
  const std::string_view data = event.substr(line + 1);
  EXPECT_TRUE(name.starts_with("event: ") && data.starts_with("data: ")) << event;
  auto value = json::parse(data.substr(6));
  EXPECT_TRUE(value && value->is_object()) << data;
  json::Object object = value ? std::move(value->get_object()) : json::Object();
  EXPECT_EQ(object.at("type").get_string(), name.substr(7));
  EXPECT_EQ(object.at("sequence_number").get_int64(), static_cast<int64_t>(number));
  return object;
}

// One item as it is built from its events.
class ItemReader {
 public:
  void add(const json::Object& item) {
    item_ = item;
    EXPECT_EQ(item_.at("status"), "in_progress");
    open_ = true;
  }

  void take(std::string_view type, const json::Object& event) {
    ASSERT_TRUE(open_) << type;
    EXPECT_EQ(event.at("item_id"), item_.at("id")) << type;
    if (type == "response.content_part.added") {
      part_ = event.at("part");
      EXPECT_EQ(part_.at("text"), "");
    } else if (type.ends_with(".delta")) {
      text_ += event.at("delta").get_string().c_str();
      take_logprobs(event);
    } else if (type == "response.content_part.done") {
      EXPECT_EQ(event.at("part").at("text").get_string(), text_);
      EXPECT_EQ(event.at("part").at("type"), part_.at("type"));
    } else if (type == "response.function_call_arguments.done") {
      EXPECT_EQ(event.at("arguments").get_string(), text_);
    } else {
      EXPECT_EQ(event.at("text").get_string(), text_) << type;
    }
  }

  void finish(const json::Object& item) {
    EXPECT_TRUE(open_);
    open_ = false;
    EXPECT_NE(item.at("status"), "in_progress");
    const bool call = item.at("type") == "function_call";
    const json::Value& text = call ? item.at("arguments") : item.at("content").at(0).at("text");
    EXPECT_EQ(text.get_string(), text_);
    if (item.at("type") == "message") {
      EXPECT_EQ(item.at("content").at(0).at("logprobs").get_array(), logprobs_);
    }
  }

  bool open() const { return open_; }

 private:
  void take_logprobs(const json::Object& event) {
    if (const json::Value* entries = event.if_contains("logprobs")) {
      for (const json::Value& entry : entries->get_array()) {
        logprobs_.push_back(entry);
      }
    }
  }

  json::Object item_;
  json::Value part_;
  std::string text_;
  json::Array logprobs_;
  bool open_ = false;
};

class StreamReader {
 public:
  void take(const json::Object& event, ResponsesStream& stream) {
    const std::string_view type = event.at("type").get_string();
    if (const json::Value* response = event.if_contains("response")) {
      stream.last = response->get_object();
    } else if (type == "response.output_item.added") {
      EXPECT_FALSE(item_.open());
      EXPECT_EQ(event.at("output_index").get_int64(), std::ssize(stream.output));
      item_ = ItemReader();
      item_.add(event.at("item").get_object());
    } else if (type == "response.output_item.done") {
      item_.finish(event.at("item").get_object());
      stream.output.push_back(event.at("item"));
    } else if (type != "error") {
      EXPECT_EQ(event.at("output_index").get_int64(), std::ssize(stream.output));
      item_.take(type, event);
    }
  }

 private:
  ItemReader item_;
};

}  // namespace

std::vector<std::string> ResponsesStream::types() const {
  std::vector<std::string> out;
  for (const json::Object& event : events) {
    out.emplace_back(event.at("type").get_string());
  }
  return out;
}

ResponsesStream read_responses_stream(std::string_view text) {
  ResponsesStream stream;
  StreamReader reader;
  while (!text.empty()) {
    const size_t end = text.find("\n\n");
    if (end == std::string_view::npos) {
      ADD_FAILURE() << text;
      break;
    }
    stream.events.push_back(parse_event(text.substr(0, end), stream.events.size()));
    text.remove_prefix(end + 2);
    reader.take(stream.events.back(), stream);
  }
  return stream;
}

}  // namespace deltaserve
