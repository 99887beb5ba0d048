// What the answer to one request may do to its connection; used on the connection's io thread.
#pragma once

#include <string_view>

#include "server/http_message.h"

namespace deltaserve {

class ResponseChannel {
 public:
  virtual ~ResponseChannel() = default;
  // The whole answer. Not after begin_stream.
  virtual void respond(HttpResponse response) = 0;
  // 200 with text/event-stream; then any number of stream() and one end_stream().
  virtual void begin_stream() = 0;
  virtual void stream(std::string_view events) = 0;
  virtual void end_stream() = 0;
  // Closes the connection: an answer that has begun cannot be completed.
  virtual void abort() = 0;
};

}  // namespace deltaserve
