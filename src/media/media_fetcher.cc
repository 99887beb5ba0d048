// libcurl, one handle a fetch, with every door closed that is not needed.
#include "media/media_fetcher.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "media/private_address.h"

namespace deltaserve {
namespace {

constexpr int kMaxRedirects = 3;
constexpr size_t kMaxUrlBytes = 8192;  // servers take no longer ones

using Handle = std::unique_ptr<CURL, void (*)(CURL*)>;
using Url = std::unique_ptr<CURLU, void (*)(CURLU*)>;

// What the callbacks of one transfer share.
struct Transfer {
  size_t max_bytes = 0;
  bool may_be_private = false;  // the operator named the address itself
  std::vector<uint8_t> body;
  bool is_too_large = false;
  bool is_private = false;
};

size_t take_bytes(char* data, size_t size, size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  if (transfer->body.size() + bytes > transfer->max_bytes) {
    transfer->is_too_large = true;
    return 0;
  }
  transfer->body.insert(transfer->body.end(), data, data + bytes);
  return bytes;
}

// Called with the address that a name was resolved to, so that nothing can change in between.
curl_socket_t open_socket(void* user, curlsocktype, curl_sockaddr* address) {
  auto* transfer = static_cast<Transfer*>(user);
  if (!transfer->may_be_private && is_private_address(&address->addr)) {
    transfer->is_private = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

bool is_address_literal(std::string_view host) {
  return host.starts_with('[') || std::ranges::all_of(host, [](char c) {
           return c == '.' || std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return out;
}

std::unexpected<Error> not_fetched(const FetchOptions& options, std::string_view host,
                                   std::string_view why) {
  return invalid(
      fmt::format("The {} could not be fetched from '{}': {}.", options.noun, host, why));
}

void set_options(CURL* handle, CURLU* url, Transfer& transfer, const FetchOptions& options) {
  curl_easy_setopt(handle, CURLOPT_CURLU, url);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
  curl_easy_setopt(handle, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options.max_bytes));
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "deltaserve");
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &transfer);
}

// Where a redirect leads; none for any other answer.
std::optional<std::string> redirect_of(CURL* handle, long status) {
  char* target = nullptr;
  curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &target);
  return status >= 300 && status < 400 && target != nullptr ? std::optional<std::string>(target)
                                                            : std::nullopt;
}

}  // namespace

MediaFetcher::MediaFetcher(FetchOptions options) : options_(std::move(options)) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  DS_CHECK(ready == CURLE_OK);
  for (std::string& host : options_.allowed_hosts) host = lower(host);
}

bool MediaFetcher::is_allowed(std::string_view host) const {
  return std::ranges::any_of(options_.allowed_hosts, [host](std::string_view allowed) {
    return allowed.starts_with("*.") ? host.ends_with(allowed.substr(1)) : host == allowed;
  });
}

Result<MediaFetcher::Answer> MediaFetcher::get(const std::string& url) const {
  const Url parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return invalid(fmt::format(
        "The {}'s URL cannot be read: data, http and https URLs are supported.", options_.noun));
  }
  const std::string scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  const std::string host = lower(part_of(parsed.get(), CURLUPART_HOST));
  if (scheme != "http" && scheme != "https") {
    return invalid(
        fmt::format("The {}'s URL is of the kind '{}:': data, http and https are supported.",
                    options_.noun, scheme));
  }
  if (!is_allowed(host)) {
    return invalid(
        fmt::format("The {0}'s host '{1}' is not among --allowed-media-domains: send the {0} as a "
                    "data URL.",
                    options_.noun, host));
  }
  Transfer transfer{options_.max_bytes, is_address_literal(host), {}};
  const Handle handle(curl_easy_init(), curl_easy_cleanup);
  DS_CHECK(handle != nullptr);
  set_options(handle.get(), parsed.get(), transfer, options_);
  const CURLcode done = curl_easy_perform(handle.get());
  if (transfer.is_private) return not_fetched(options_, host, "its address is not public");
  if (transfer.is_too_large || done == CURLE_FILESIZE_EXCEEDED) {
    return not_fetched(options_, host,
                       fmt::format("it is larger than {} bytes", options_.max_bytes));
  }
  if (done != CURLE_OK) return not_fetched(options_, host, curl_easy_strerror(done));
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  std::optional<std::string> redirect = redirect_of(handle.get(), status);
  if (status != 200 && !redirect)
    return not_fetched(options_, host, fmt::format("it answered {}", status));
  return Answer{std::move(transfer.body), std::move(redirect)};
}

Result<std::vector<uint8_t>> MediaFetcher::fetch(std::string_view url) const {
  if (url.size() > kMaxUrlBytes) {
    return invalid(
        fmt::format("The {}'s URL has {} bytes: at most {} are read, unless it is a data "
                    "URL.",
                    options_.noun, url.size(), kMaxUrlBytes));
  }
  std::string target(url);
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    Result<Answer> answer = get(target);
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (!answer->redirect) return std::move(answer->body);
    target = *std::move(answer->redirect);
  }
  return invalid(fmt::format("The {}'s URL is redirected too often.", options_.noun));
}

}  // namespace deltaserve
