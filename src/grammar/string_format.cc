// Patterns after the RFCs that JSON Schema names. Where a grammar has rare forms that readers of
// this field reject (leap seconds, quoted mail names, comments), the pattern leaves them out: a
// text that it lets through is valid.
#include "grammar/string_format.h"

#include <algorithm>
#include <array>
#include <utility>

namespace deltaserve {
namespace {

#define DS_DATE                                                \
  "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|" \
  "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
// With the leap days of the Gregorian calendar.
#define DS_ANY_DATE \
  "(?:" DS_DATE     \
  "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define DS_TIME                                                  \
  "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?" \
  "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define DS_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define DS_HOST DS_LABEL "(?:\\." DS_LABEL ")*"
#define DS_OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define DS_IPV4 DS_OCTET "(?:\\." DS_OCTET "){3}"
#define DS_H16 "[0-9A-Fa-f]{1,4}"
// The last 32 bits may be written as an IPv4 address.
#define DS_LEFT(min, max) "(?:" DS_H16 ":){" #min "," #max "}"
#define DS_RIGHT(max) "(?::" DS_H16 "){1," #max "}"
#define DS_IPV6 \
  "(?:" DS_LEFT(7, 7) DS_H16 "|" DS_LEFT(1, 7) ":|::|:" DS_RIGHT(7) "|" DS_LEFT(1, 6) ":" DS_H16 \
  "|" DS_LEFT(1, 5) DS_RIGHT(2) "|" DS_LEFT(1, 4) DS_RIGHT(3) "|" DS_LEFT(1, 3) DS_RIGHT(4) \
  "|" DS_LEFT(1, 2) DS_RIGHT(5) "|" DS_LEFT(1, 1) DS_RIGHT(6)                               \
  "|(?:" DS_LEFT(6, 6) "|::" DS_LEFT(0, 5) "|" DS_LEFT(1, 5) ":|" DS_LEFT(1, 4) DS_RIGHT(1) ":" \
  "|" DS_LEFT(1, 3) DS_RIGHT(2) ":|" DS_LEFT(1, 2) DS_RIGHT(3) ":|" DS_LEFT(1, 1) DS_RIGHT(4) ":)" \
  DS_IPV4 ")"
#define DS_USER_CHARS "(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})"
#define DS_URI_CHARS "(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})"

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kFormats = {{
    {"date", DS_ANY_DATE},
    {"time", DS_TIME},
    {"date-time", DS_ANY_DATE "T" DS_TIME},
    {"duration",
     "P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
     "(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?|"
     "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))"},
    {"email", "[A-Za-z0-9_+~-]+(?:\\.[A-Za-z0-9_+~-]+)*@" DS_LABEL "(?:\\." DS_LABEL ")+"},
    {"idn-email", "[A-Za-z0-9_+~-]+(?:\\.[A-Za-z0-9_+~-]+)*@" DS_LABEL "(?:\\." DS_LABEL ")+"},
    {"hostname", DS_HOST},
    {"idn-hostname", DS_HOST},
    {"ipv4", DS_IPV4},
    {"ipv6", DS_IPV6},
    {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    {"uri", "[A-Za-z][A-Za-z0-9+.-]*:(?://(?:" DS_USER_CHARS "*@)?(?:" DS_HOST "|\\[" DS_IPV6 "\\])"
            "(?::[0-9]{1,5})?(?:[/?]" DS_URI_CHARS "*)?|" DS_USER_CHARS DS_URI_CHARS "*)"
            "(?:#" DS_URI_CHARS "*)?"},
    {"json-pointer", "(?:/(?:[^/~]|~[01])*)*"},
}};

}  // namespace

std::optional<std::string_view> format_pattern(std::string_view format) {
  const auto known =
      std::ranges::find(kFormats, format, [](const auto& entry) { return entry.first; });
  if (known == kFormats.end()) {
    return std::nullopt;
  }
  return known->second;
}

}  // namespace deltaserve
