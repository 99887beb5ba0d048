// By the system's own calls, since they say what went wrong.
#include "base/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace deltaserve {

namespace {

std::unexpected<Error> unreadable(const std::filesystem::path& path, int error) {
  const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
  return fail(code, fmt::format("{}: cannot be read: {}", path.string(), std::strerror(error)),
              path.filename().string());
}

// Appends all that is left in `fd`; 0 or the error's number.
int append_rest(int fd, size_t max_bytes, std::string& text) {
  std::array<char, 1 << 16> piece;
  while (text.size() <= max_bytes) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count == 0) return 0;
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) text.append(piece.data(), static_cast<size_t>(count));
  }
  return EFBIG;
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, size_t max_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return unreadable(path, errno);
  std::string text;
  const int error = append_rest(fd, max_bytes, text);
  ::close(fd);
  if (error != 0) return unreadable(path, error);
  return text;
}

bool has_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  return status.type() != std::filesystem::file_type::not_found;
}

}  // namespace deltaserve
