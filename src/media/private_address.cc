// The registries of special-purpose addresses as prefixes.
#include "media/private_address.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace deltaserve {
namespace {

struct Prefix {
  uint32_t network;
  uint32_t bits;
};

constexpr std::array<Prefix, 14> kSpecialV4 = {{
    {0x00000000, 8},   // this network
    {0x0A000000, 8},   // private
    {0x64400000, 10},  // shared by carriers
    {0x7F000000, 8},   // loopback
    {0xA9FE0000, 16},  // link-local, with the metadata services of clouds
    {0xAC100000, 12},  // private
    {0xC0000000, 24},  // protocol assignments
    {0xC0000200, 24},  // documentation
    {0xC0A80000, 16},  // private
    {0xC6120000, 15},  // benchmarking
    {0xC6336400, 24},  // documentation
    {0xCB007100, 24},  // documentation
    {0xE0000000, 4},   // multicast
    {0xF0000000, 4},   // reserved, broadcast
}};

bool is_special_v4(uint32_t address) {  // host order
  return std::ranges::any_of(kSpecialV4, [address](const Prefix& prefix) {
    return (address ^ prefix.network) >> (32 - prefix.bits) == 0;
  });
}

uint32_t big_endian_at(const std::array<uint8_t, 16>& bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         uint32_t{bytes[at + 3]};
}

// Only 2000::/3 is global unicast; parts of it carry IPv4 addresses.
bool is_special_v6(const std::array<uint8_t, 16>& bytes) {
  const bool is_mapped =
      std::all_of(bytes.begin(), bytes.begin() + 10, [](uint8_t b) { return b == 0; }) &&
      bytes[10] == 0xFF && bytes[11] == 0xFF;
  if (is_mapped) return is_special_v4(big_endian_at(bytes, 12));
  if ((bytes[0] & 0xE0) != 0x20) return true;
  const uint32_t head = big_endian_at(bytes, 0);
  const bool is_6to4 = head >> 16 == 0x2002;
  const bool is_teredo_or_documentation = head == 0x20010000 || head == 0x20010DB8;
  return is_6to4 || is_teredo_or_documentation;
}

}  // namespace

bool is_private_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    return is_special_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    std::array<uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return is_special_v6(bytes);
  }
  return true;
}

}  // namespace deltaserve
