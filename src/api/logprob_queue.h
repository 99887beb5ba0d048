// Log probabilities of one choice on their way to the client: an entry waits until the text of its
// token has been sent, so that a delta carries the entries of what it shows. Entries keep their
// order; one without text of its own goes with what comes before it.
//
// Two measures of text are at work. Bytes of the model's text ("input") say where a token is;
// events are made of them later, and tags or blanks never. Bytes of content say what was sent.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "api/choice_delta.h"

namespace deltaserve {

class LogprobQueue {
 public:
  // A token whose text is input [begin, end); no `end` while it ends inside a character.
  void add(LogprobEntry entry, size_t begin, std::optional<size_t> end);

  // The character that waiting entries end in is complete.
  void complete_character(size_t end);

  // Input up to `settled` has become content up to `content`, as far as it is content at all.
  void settle(size_t settled, size_t content);

  // Content up to `sent` has left: moves the entries that went with it to `out`.
  void release(size_t sent, std::vector<LogprobEntry>& out);

  // The end: all that still wait.
  void release_all(std::vector<LogprobEntry>& out);

  // The content ends at `sent`: drops the entries with text wholly behind it, releases the others.
  void cut(size_t sent, std::vector<LogprobEntry>& out);

 private:
  struct Pending {
    LogprobEntry entry;
    size_t begin = 0;           // of input
    std::optional<size_t> end;  // of input
  };

  std::deque<Pending> pending_;
  size_t num_settled_ = 0;  // entries at the front
  size_t content_ = 0;      // bytes
};

}  // namespace deltaserve
