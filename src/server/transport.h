// The two halves of a connection: Transport moves bytes and knows no HTTP; a Protocol reads
// requests and writes responses and knows no sockets. Both live on one io thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace deltaserve {

class Transport {
 public:
  virtual ~Transport() = default;
  // Queues bytes; on_sent follows when all that is queued has been taken by the kernel.
  virtual void send(std::string_view bytes) = 0;
  virtual size_t unsent_bytes() const = 0;
  // Once everything is sent: says goodbye, swallows what the peer is still sending (closing at once
  // would destroy the answer on its way) and closes.
  virtual void finish() = 0;
  virtual void close() = 0;  // at once; on_closed follows
  // on_deadline follows after that time unless set again; 0 takes it back.
  virtual void set_deadline(std::chrono::milliseconds after) = 0;
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual void on_bytes(std::string& input) = 0;  // removes what it used
  virtual void on_sent() = 0;
  // The peer will send no more. True: go on sending what is queued, then close.
  virtual bool on_peer_closed() = 0;
  virtual void on_closed() = 0;  // the transport is gone and must not be used again
  virtual void on_deadline() = 0;
  virtual void drain() = 0;  // the server is stopping: close when the current answer is complete
};

}  // namespace deltaserve
