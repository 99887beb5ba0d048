// Any text as the URL of an image: an error or bytes, no more than the text has room for. URLs of
// other kinds go to the fetcher, which has no host that it may ask.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "media/data_url.h"
#include "media/media_fetcher.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deltaserve;
  const std::string_view url(reinterpret_cast<const char*>(data), size);
  const auto bytes = decode_data_url(url);
  if (bytes && (bytes->empty() || bytes->size() > size || !is_data_url(url))) std::abort();
  if (!bytes && bytes.error().message.empty()) std::abort();
  static const MediaFetcher fetcher(FetchOptions{});
  if (fetcher.fetch(url)) std::abort();
  return 0;
}
