// Which addresses belong to this machine or its own network.
#pragma once

#include <sys/socket.h>

namespace deltaserve {

// True for loopback, link-local, private, shared, multicast, reserved and unspecified addresses of
// IPv4 and IPv6 (RFC 6890), for IPv4 ones inside IPv6, and for every other family.
bool is_private_address(const sockaddr* address);

}  // namespace deltaserve
