// Growing JSON arguments.
#include "chat/argument_writer.h"

#include "json/json.h"

namespace deltaserve {
namespace {

std::string escaped(std::string_view text) {
  std::string quoted;
  json::append_quoted(text, quoted);
  return quoted.substr(1, quoted.size() - 2);
}

bool may_become_null(std::string_view text) {
  return std::string_view("null").starts_with(text) || std::string_view("None").starts_with(text);
}

}  // namespace

void ArgumentWriter::begin(std::string_view key, const ArgumentTypes& types, EventSink& sink) {
  types_ = types;
  buffer_.clear();
  mode_ = types.is_plain_string()      ? Mode::kStream
          : types.is_nullable_string() ? Mode::kNullOrStream
                                       : Mode::kBuffer;
  std::string head(empty_ ? "{" : ",");
  empty_ = false;
  json::append_quoted(key, head);
  head += mode_ == Mode::kStream ? ":\"" : ":";
  sink.arguments(index_, head);
}

void ArgumentWriter::text(std::string_view text, EventSink& sink) {
  if (mode_ == Mode::kStream) {
    sink.arguments(index_, escaped(text));
    return;
  }
  buffer_ += text;
  if (mode_ == Mode::kNullOrStream && !may_become_null(buffer_)) {
    mode_ = Mode::kStream;
    sink.arguments(index_, "\"");
    sink.arguments(index_, escaped(buffer_));
    buffer_.clear();
  }
}

void ArgumentWriter::end(EventSink& sink) {
  sink.arguments(index_, mode_ == Mode::kStream ? "\"" : argument_json(buffer_, types_));
  buffer_.clear();
}

void ArgumentWriter::close(EventSink& sink) {
  sink.arguments(index_, empty_ ? "{}" : "}");
}

}  // namespace deltaserve
