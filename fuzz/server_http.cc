// Any bytes on a connection, cut into pieces of any size: no crash, every answer is framed, and the
// connection ends or asks for more. The first byte is the size of the pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "server/http_protocol.h"
#include "server/routes.h"

namespace {

using namespace deltaserve;

class MemoryTransport : public Transport {
 public:
  void send(std::string_view bytes) override { sent += bytes; }
  size_t unsent_bytes() const override { return 0; }
  void finish() override { open = false; }
  void close() override { open = false; }
  void set_deadline(std::chrono::milliseconds /*after*/) override {}

  std::string sent;
  bool open = true;
};

// No threads: worker routes are refused as if the queue were full.
ServerOptions small_options() {
  ServerOptions options;
  options.num_io_threads = 1;
  options.num_workers = 0;
  options.max_pending_jobs = 0;
  options.max_header_bytes = 4096;
  options.max_body_bytes = 4096;
  return options;
}

struct Target {
  ApiService service{"0"};
  ServerCore core{small_options()};

  Target() { add_routes(service, core.metrics, core.router); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Target target;
  if (size < 2) {
    return 0;
  }
  const size_t piece = data[0] == 0 ? size : data[0];
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  MemoryTransport transport;
  const auto protocol = std::make_shared<HttpProtocol>(target.core, transport, 0);
  std::string input;
  while (!bytes.empty() && transport.open) {
    input += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    size_t answered = 0;
    do {
      answered = transport.sent.size();
      protocol->on_bytes(input);
      protocol->on_sent();
    } while (transport.open && transport.sent.size() > answered);
  }
  if (!transport.sent.empty() && !transport.sent.starts_with("HTTP/1.1 ")) {
    std::abort();
  }
  protocol->on_closed();
  return 0;
}
